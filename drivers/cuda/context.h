// Context: the primary context of a GPU, which all users of CUDA in the process share [CUDA Driver
// API, "Primary Context Management"], so that memory of PyTorch's and ours are of one context. The
// calls of the driver run between Current's constructor and its destructor.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "base/util/first_error.h"
#include "drivers/cuda/api.h"

namespace doorbell::cuda {

class Context {
 public:
  // More about the loss of the context than CUDA's result: an emulator knows. Null: nothing.
  using Explain = std::function<std::string()>;

  // shared_ptr: memory that several devices use keeps the context that it was allocated in.
  static Result<std::shared_ptr<Context>> open(const Api& api, CUdevice device, Explain explain);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Api& api() const { return api_; }
  CUdevice device() const { return device_; }
  CUcontext handle() const { return context_; }
  Result<int> attribute(Attribute attribute) const;

  // Success, or the error of the call. A result that means the context is lost is remembered, and
  // told to the listener once.
  Result<void> check(CUresult result, std::string_view call) {
    if (result == kSuccess) [[likely]]
      return {};
    return refused(result, call);
  }
  // The error with which the context was lost; also that this process is a forked child.
  Result<void> failure() const;
  // Set before other threads use the context, and reset by who is destroyed.
  void set_lost_listener(std::function<void(const Error&)> listener) {
    lost_listener_ = std::move(listener);
  }

 private:
  Context(const Api& api, CUdevice device, CUcontext context, Explain explain)
      : api_(api), device_(device), context_(context), explain_(std::move(explain)) {}
  Error refused(CUresult result, std::string_view call);

  const Api& api_;  // never freed
  const CUdevice device_;
  const CUcontext context_;
  const Explain explain_;
  std::function<void(const Error&)> lost_listener_;
  FirstError lost_;
};

// Makes a context the thread's current one, and restores the one before.
class Current {
 public:
  explicit Current(const Context& context) : api_(context.api()) {
    (void)api_.cuCtxPushCurrent(context.handle());  // a lost context fails the next call
  }
  ~Current() {
    CUcontext ours = nullptr;
    (void)api_.cuCtxPopCurrent(&ours);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  const Api& api_;
};

}  // namespace doorbell::cuda
