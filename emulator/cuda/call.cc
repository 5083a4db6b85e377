// What all calls have in common.
#include "emulator/cuda/call.h"

namespace doorbell::emu::cuda {

std::vector<Handle>& Call::stack() {
  static thread_local std::vector<Handle> stack;
  return stack;
}

Call::Call(const char* name, Needs needs) : name_(name), driver_(cuda::driver()) {
  if (driver_ == nullptr || !driver_->process.is_same_process()) {
    status_ = kNotInitialized;
    return;
  }
  lock_ = std::unique_lock(driver_->mutex);
  status_ = refusal(needs);
}

int Call::refusal(Needs needs) {
  if (needs == Needs::Nothing) return kSuccess;
  if (!driver_->initialised) return broken(kInitialised, kNotInitialized, "before cuInit()");
  if (!stack().empty()) context_ = stack().back();
  if (!driver_->contexts.contains(context_)) context_ = 0;
  if (needs == Needs::Init) return kSuccess;
  if (context_ == 0) return broken(kCurrent, kInvalidContext, "no context is current");
  return current().status;
}

int Call::broken(const Check& rule, int status, const std::string& what) const {
  driver_->checks.report(rule, fmt::format("{}: {}", name_, what));
  return status;
}

int Call::no_handle(std::string_view kind, Handle handle) const {
  return broken(kHandle, kInvalidHandle,
                fmt::format("{:#x} is no {}, or one that was destroyed", handle, kind));
}

Stream* Call::stream(Handle handle) const {
  Stream* found = driver_->find_stream(handle, context_);
  if (found == nullptr) (void)no_handle("stream", handle);
  return found;
}

int Call::wait(const Stream& stream, Handle handle) {
  const Handle context = stream.context;
  driver_->wait(lock_, [&] {
    const Stream* now = driver_->find_stream(handle, context_);
    return now == nullptr || driver_->is_idle(*now);
  });
  return driver_->contexts.at(context).status;
}

int Call::wait_for_context() {
  driver_->wait(lock_, [&] { return driver_->is_idle_context(context_); });
  return current().status;
}

}  // namespace doorbell::emu::cuda
