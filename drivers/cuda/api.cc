// Opens libcuda; errors.
#include "drivers/cuda/api.h"

#include <fmt/format.h>

#include <mutex>

#include "base/os/library.h"
#include "base/util/try.h"

namespace doorbell::cuda {
namespace {

// What a result means to us. [cuda.h, CUresult]
struct Meaning {
  CUresult result;
  ErrorKind kind;
  bool sticky;
  const char* advice;
};
constexpr const char* kRestart = "all work of the process on the device is lost; start it again";
// clang-format off
constexpr Meaning kMeanings[] = {
  {2,   ErrorKind::OutOfMemory, false, "free tensors, or use smaller ones"},
  {3,   ErrorKind::Unsupported, false, "CUDA was not initialised in this process; it cannot be "
                                       "used after fork(): start the process with spawn or exec"},
  {4,   ErrorKind::Unsupported, false, "the process is ending"},
  {35,  ErrorKind::Unsupported, false, "install a newer NVIDIA driver"},
  {46,  ErrorKind::Unsupported, false, "another process holds the device; nvidia-smi shows it"},
  {100, ErrorKind::NotFound,    false, "no NVIDIA GPU is visible: see nvidia-smi and "
                                       "CUDA_VISIBLE_DEVICES"},
  {101, ErrorKind::NotFound,    false, "nvidia-smi lists the devices"},
  {200, ErrorKind::Corrupt,     false, "the kernel is damaged; clear the cache of kernels"},
  {209, ErrorKind::Unsupported, false, "the kernel is for another chip, or newer than the driver"},
  {214, ErrorKind::DeviceLost,  true,  "the GPU's memory is corrupt (ECC): reset the GPU"},
  {218, ErrorKind::Corrupt,     false, "the driver refuses the kernel's PTX"},
  {222, ErrorKind::Unsupported, false, "install a newer NVIDIA driver"},
  {500, ErrorKind::Corrupt,     false, "the kernel is damaged; clear the cache of kernels"},
  {700, ErrorKind::DeviceLost,  true,  kRestart},
  {701, ErrorKind::OutOfMemory, false, "the kernel needs more registers than a block may have"},
  {702, ErrorKind::DeviceLost,  true,  "a display's watchdog stopped a long kernel; restart"},
  {709, ErrorKind::DeviceLost,  true,  kRestart},
  {710, ErrorKind::DeviceLost,  true,  kRestart},
  {714, ErrorKind::DeviceLost,  true,  kRestart},
  {715, ErrorKind::DeviceLost,  true,  kRestart},
  {716, ErrorKind::DeviceLost,  true,  kRestart},
  {717, ErrorKind::DeviceLost,  true,  kRestart},
  {718, ErrorKind::DeviceLost,  true,  kRestart},
  {719, ErrorKind::DeviceLost,  true,  kRestart},
  {802, ErrorKind::Unsupported, false, "the system is not ready: on machines with NVSwitch start "
                                       "nvidia-fabricmanager"},
  {803, ErrorKind::Unsupported, false, "the kernel's driver and libcuda differ: reboot"},
  {804, ErrorKind::Unsupported, false, "remove the compatibility package of CUDA"},
};
// clang-format on

const Meaning* find_meaning(CUresult result) {
  for (const Meaning& meaning : kMeanings)
    if (meaning.result == result) return &meaning;
  return nullptr;
}

}  // namespace

bool is_sticky(CUresult result) {
  const Meaning* meaning = find_meaning(result);
  return meaning != nullptr && meaning->sticky;
}

Error Api::refusal(CUresult result, std::string_view call) const {
  const char *name = nullptr, *text = nullptr;
  (void)cuGetErrorName(result, &name);  // a result that libcuda does not know leaves null
  (void)cuGetErrorString(result, &text);
  const Meaning* meaning = find_meaning(result);
  return fail(meaning == nullptr ? ErrorKind::Os : meaning->kind, "{}: {} ({}): {}{}{}", call,
              name == nullptr ? "an unknown result" : name, result,
              text == nullptr ? "no explanation" : text, meaning == nullptr ? "" : "; ",
              meaning == nullptr ? "" : meaning->advice);
}

Result<std::unique_ptr<const Api>> load_api(const FindSymbol& find, std::string_view library) {
  auto api = std::make_unique<Api>();
  // First, because a driver that is too old also lacks functions.
  api->cuDriverGetVersion =
      reinterpret_cast<decltype(api->cuDriverGetVersion)>(find("cuDriverGetVersion"));
  int version = 0;
  if (api->cuDriverGetVersion != nullptr) (void)api->cuDriverGetVersion(&version);
  if (version < kLeastVersion)
    return fail(ErrorKind::Unsupported,
                "{} is a driver for CUDA {}.{}, at least 12.0 is needed: install an NVIDIA driver "
                "of version 525.60 or later",
                library, version / 1000, version % 1000 / 10);
#define F(name, abi, arguments)                                       \
  api->name = reinterpret_cast<decltype(api->name)>(find(#name abi)); \
  if (api->name == nullptr)                                           \
    return fail(ErrorKind::Unsupported, "{} has no function {}", library, #name abi);
  DOORBELL_CUDA_FUNCTIONS(F)
#undef F
  TRY(api->check(api->cuInit(0), "cuInit"));
  return api;
}

Result<const Api*> load_api() {
  static std::mutex& mutex = *new std::mutex;
  static const Api* api = nullptr;
  std::lock_guard lock(mutex);
  if (api == nullptr) {
    const std::string names[] = {"libcuda.so.1"};
    Result<const os::Library*> library = os::Library::open_for_good(names);
    if (!library)
      return fail(ErrorKind::NotFound, "no CUDA driver ({}); libcuda.so.1 comes with NVIDIA's",
                  library.error().message);
    const FindSymbol find = [&library](const char* symbol) {
      Result<void (*)()> found = (*library)->function<void()>(symbol);
      return found ? reinterpret_cast<void*>(*found) : nullptr;
    };
    TRY(std::unique_ptr<const Api> loaded, load_api(find, (*library)->name()));
    api = loaded.release();
  }
  TRY(api->check_process());
  return api;
}

}  // namespace doorbell::cuda
