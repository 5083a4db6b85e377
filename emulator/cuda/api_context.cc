// Contexts, and which is current.
#include "emulator/cuda/call.h"
#include "emulator/cuda/functions.h"

namespace doorbell::emu::cuda {

int cuDevicePrimaryCtxRetain(Handle* context, int device) {
  Call call("cuDevicePrimaryCtxRetain", Call::Needs::Init);
  if (!call.ok()) return call.status();
  Driver& driver = call.driver();
  if (device < 0 || device >= static_cast<int>(driver.gpus.size())) return kInvalidDevice;
  Gpu& gpu = *driver.gpus[static_cast<usize>(device)];
  if (gpu.retained++ == 0) gpu.primary = driver.make_context(device);
  *context = gpu.primary;
  return kSuccess;
}

int cuDevicePrimaryCtxRelease_v2(int device) {
  Call call("cuDevicePrimaryCtxRelease", Call::Needs::Init);
  if (!call.ok()) return call.status();
  Driver& driver = call.driver();
  if (device < 0 || device >= static_cast<int>(driver.gpus.size())) return kInvalidDevice;
  Gpu& gpu = *driver.gpus[static_cast<usize>(device)];
  if (gpu.retained == 0)
    return call.broken(kHandle, kInvalidContext, "the primary context was not retained");
  if (--gpu.retained > 0) return kSuccess;
  driver.wait(call.lock(), [&] { return driver.is_idle_context(gpu.primary); });
  driver.destroy_context(gpu.primary);
  gpu.primary = 0;
  return kSuccess;
}

int cuCtxCreate_v2(Handle* context, u32 /*flags*/, int device) {
  Call call("cuCtxCreate", Call::Needs::Init);
  if (!call.ok()) return call.status();
  if (device < 0 || device >= static_cast<int>(call.driver().gpus.size())) return kInvalidDevice;
  *context = call.driver().make_context(device);
  Call::stack().push_back(*context);
  return kSuccess;
}

int cuCtxCreate_v4(Handle* context, void* /*parameters*/, u32 flags, int device) {
  return cuCtxCreate_v2(context, flags, device);
}

int cuCtxDestroy_v2(Handle context) {
  Call call("cuCtxDestroy", Call::Needs::Init);
  if (!call.ok()) return call.status();
  Driver& driver = call.driver();
  if (!driver.contexts.contains(context)) return call.no_handle("context", context);
  driver.wait(call.lock(), [&] { return driver.is_idle_context(context); });
  driver.destroy_context(context);
  if (!Call::stack().empty() && Call::stack().back() == context) Call::stack().pop_back();
  return kSuccess;
}

int cuCtxPushCurrent_v2(Handle context) {
  Call call("cuCtxPushCurrent", Call::Needs::Init);
  if (!call.ok()) return call.status();
  if (!call.driver().contexts.contains(context)) return call.no_handle("context", context);
  Call::stack().push_back(context);
  return kSuccess;
}

int cuCtxPopCurrent_v2(Handle* context) {
  Call call("cuCtxPopCurrent", Call::Needs::Init);
  if (!call.ok()) return call.status();
  if (Call::stack().empty())
    return call.broken(kPop, kInvalidContext, "the thread's stack of contexts is empty");
  if (context != nullptr) *context = Call::stack().back();
  Call::stack().pop_back();
  return kSuccess;
}

int cuCtxSetCurrent(Handle context) {
  Call call("cuCtxSetCurrent", Call::Needs::Init);
  if (!call.ok()) return call.status();
  if (context != 0 && !call.driver().contexts.contains(context))
    return call.no_handle("context", context);
  if (!Call::stack().empty()) Call::stack().pop_back();
  if (context != 0) Call::stack().push_back(context);
  return kSuccess;
}

int cuCtxGetCurrent(Handle* context) {
  Call call("cuCtxGetCurrent", Call::Needs::Init);
  if (!call.ok()) return call.status();
  *context = call.context();
  return kSuccess;
}

int cuCtxGetDevice(int* device) {
  Call call("cuCtxGetDevice");
  if (!call.ok()) return call.status();
  *device = call.gpu();
  return kSuccess;
}

int cuCtxSynchronize() {
  Call call("cuCtxSynchronize");
  return call.ok() ? call.wait_for_context() : call.status();
}

int cuCtxEnablePeerAccess(Handle peer, u32 flags) {
  Call call("cuCtxEnablePeerAccess");
  if (!call.ok()) return call.status();
  Driver& driver = call.driver();
  const auto found = driver.contexts.find(peer);
  if (found == driver.contexts.end()) return call.no_handle("context", peer);
  if (flags != 0) return kInvalidValue;
  const int other = found->second.gpu;
  if (other == call.gpu()) return kInvalidDevice;
  if (driver.is_peer(call.gpu(), other)) return kPeerAccessAlreadyEnabled;
  driver.enable_peer(call.gpu(), other);
  return kSuccess;
}

}  // namespace doorbell::emu::cuda
