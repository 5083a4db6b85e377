// Opens the library.
#include "drivers/webgpu/api.h"

#include <fmt/format.h>

#include <memory>
#include <mutex>
#include <vector>

#include "base/os/library.h"
#include "base/util/try.h"

namespace doorbell::webgpu {
namespace {

// wgpu-native 29: before, the numbers of the header's enumerations were others.
constexpr u32 kLeastNative = 29u << 24;

Result<const Api*> open_library(std::span<const std::string> libraries) {
  const Result<const os::Library*> library = os::Library::open_for_good(libraries);
  if (!library)
    return fail(
        ErrorKind::NotFound,
        "no WebGPU library: pip install wgpu (0.32 or later) in the Python environment that "
        "is active, or set WEBGPU_LIBRARY to wgpu-native's libwgpu_native.so (29 or later) "
        "or Dawn's libwebgpu_dawn.so ({})",
        library.error().message);
  auto api = std::make_unique<Api>();
  api->library = (*library)->name();
#define F(name, result, arguments)                                                               \
  {                                                                                              \
    auto found = (*library)->function<std::remove_pointer_t<decltype(api->name)>>("wgpu" #name); \
    if (found) api->name = *found;                                                               \
  }
  DOORBELL_WEBGPU_NATIVE_FUNCTIONS(F)
#undef F
  if (api->GetVersion != nullptr && api->GetVersion() < kLeastNative)
    return fail(ErrorKind::Unsupported,
                "{} is wgpu-native {}, whose webgpu.h is not the standard one; 29 or later is",
                api->library, api->GetVersion() >> 24);
  // Of Dawn, what the header of 2025 added beside other numbers tells.
  if (api->GetVersion == nullptr && !(*library)->function<void()>("wgpuGetInstanceLimits"))
    return fail(ErrorKind::Unsupported,
                "{} is an older Dawn, whose webgpu.h is not the standard one; one since December "
                "2025 is",
                api->library);
#define F(name, result, arguments) \
  TRY(api->name, (*library)->function<std::remove_pointer_t<decltype(api->name)>>("wgpu" #name));
  DOORBELL_WEBGPU_FUNCTIONS(F)
#undef F
  return api.release();
}

}  // namespace

Result<const Api*> load_api(std::span<const std::string> libraries) {
  static std::mutex& mutex = *new std::mutex;
  static const Api* api = nullptr;
  std::lock_guard lock(mutex);
  if (api == nullptr) {
    TRY(api, open_library(libraries));
  }
  TRY(api->check_process());
  return api;
}

}  // namespace doorbell::webgpu
