// Opens libnccl; errors.
#include "drivers/cuda/nccl/api.h"

#include <fmt/format.h>

#include <memory>

#include "base/os/library.h"
#include "base/util/try.h"

namespace doorbell::cuda::nccl {
namespace {

constexpr const char* kUseDriver = "doorbell_use_emulated_cuda";

}  // namespace

Error Api::refusal(Status status, std::string_view call, Comm comm) const {
  const char *text = ncclGetErrorString(status), *last = ncclGetLastError(comm);
  return fail(ErrorKind::DeviceLost, "{}: {} ({}){}{}", call, text == nullptr ? "?" : text,
              static_cast<int>(status), last == nullptr || *last == 0 ? "" : ": ",
              last == nullptr ? "" : last);
}

Result<const Api*> load(const std::vector<std::string>& files) {
  TRY(const os::Library* library, os::Library::open_for_good(files));
  auto api = std::make_unique<Api>();
#define F(name, arguments) TRY(api->name, library->function<Status arguments>(#name));
  DOORBELL_NCCL_FUNCTIONS(F)
#undef F
  TRY(api->ncclGetErrorString, library->function<const char*(Status)>("ncclGetErrorString"));
  TRY(api->ncclGetLastError, library->function<const char*(Comm)>("ncclGetLastError"));
  if (const auto use = library->function<void(const cuda::Api*)>(kUseDriver))
    api->use_driver = *use;
  const Status status = api->ncclGetVersion(&api->version);
  if (status != Status::Success) return api->refusal(status, "ncclGetVersion", nullptr);
  if (api->version < kLeastVersion)
    return fail(ErrorKind::Unsupported, "{} is NCCL {}.{}.{}, expected 2.18 or later",
                library->name(), api->version / 10000, api->version / 100 % 100,
                api->version % 100);
  return api.release();
}

}  // namespace doorbell::cuda::nccl
