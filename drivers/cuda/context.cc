// Retaining the primary context, and its loss.
#include "drivers/cuda/context.h"

#include <fmt/format.h>

#include "base/util/try.h"

namespace doorbell::cuda {

Result<std::shared_ptr<Context>> Context::open(const Api& api, CUdevice device, Explain explain) {
  CUcontext context = nullptr;
  TRY(api.check(api.cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain"));
  return std::shared_ptr<Context>(new Context(api, device, context, std::move(explain)));
}

Context::~Context() {
  if (api_.process.is_same_process()) (void)api_.cuDevicePrimaryCtxRelease(device_);
}

Result<int> Context::attribute(Attribute attribute) const {
  int value = 0;
  TRY(api_.check(api_.cuDeviceGetAttribute(&value, attribute, device_),
                 fmt::format("cuDeviceGetAttribute({})", static_cast<int>(attribute))));
  return value;
}

Error Context::refused(CUresult result, std::string_view call) {
  Error error = api_.refusal(result, call);
  if (!is_sticky(result)) return error;
  const std::string more = explain_ ? explain_() : "";
  if (!more.empty()) error.message += "; the emulator: " + more;
  if (!lost_.set(error)) return lost_.check().error();
  if (lost_listener_) lost_listener_(error);
  return error;
}

Result<void> Context::failure() const {
  TRY(api_.check_process());
  return lost_.check();
}

}  // namespace doorbell::cuda
