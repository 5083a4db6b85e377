// Call: one call of the driver API while it is made: holds the driver's mutex, knows the current
// context, and fails early where there is none.
//
// Thread safety: one thread.
#pragma once

#include <fmt/format.h>

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/cuda/driver.h"
#include "emulator/cuda/rules.h"

namespace doorbell::emu::cuda {

class Call {
 public:
  enum class Needs : u8 { Nothing, Init, Context };

  explicit Call(const char* name, Needs needs = Needs::Context);

  // What the function returns where the call is not ok().
  bool ok() const { return status_ == kSuccess; }
  int status() const { return status_; }

  Driver& driver() const { return *driver_; }
  std::unique_lock<std::mutex>& lock() { return lock_; }
  Handle context() const { return context_; }
  Context& current() const { return driver_->contexts.at(context_); }
  int gpu() const { return current().gpu; }

  // A broken rule: reports it, and returns what the function returns.
  int broken(const Check& rule, int status, const std::string& what) const;
  // Of the rule of handles: "no stream 0x..., it may have been destroyed".
  int no_handle(std::string_view kind, Handle handle) const;
  // Null after a report, where there is no such one.
  Stream* stream(Handle handle) const;

  // Blocks until the stream, or all of the context, is done. What the context's state is then.
  int wait(const Stream& stream, Handle handle);
  int wait_for_context();

  // The contexts of this thread, the current one last.
  static std::vector<Handle>& stack();

 private:
  int refusal(Needs needs);

  const char* const name_;
  Driver* const driver_;
  std::unique_lock<std::mutex> lock_;
  Handle context_ = 0;
  int status_ = kSuccess;
};

}  // namespace doorbell::emu::cuda
