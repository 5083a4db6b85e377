// FirstError: the error after which something works no more, such as a queue or a context. The
// first one stays; asking while there is none costs a load.
//
// Thread safety: all functions may be called from any thread.
// Memory ordering: what was written before set() is seen by who sees the error.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <utility>

#include "base/util/result.h"

namespace doorbell {

class FirstError {
 public:
  // Whether it is the first.
  bool set(Error error) {
    std::lock_guard lock(mutex_);
    if (error_) return false;
    error_.emplace(std::move(error));
    is_set_.store(true, std::memory_order_release);
    return true;
  }
  bool is_set() const { return is_set_.load(std::memory_order_acquire); }
  // The error, if there is one.
  Result<void> check() const {
    if (!is_set()) [[likely]]
      return {};
    return *error_;
  }

 private:
  std::mutex mutex_;  // guards the setting
  std::optional<Error> error_;
  std::atomic<bool> is_set_{false};  // error_ is set, and does not change
};

}  // namespace doorbell
