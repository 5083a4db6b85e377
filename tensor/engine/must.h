// must(): the border between Result, below the tensor API, and exceptions, at it. Included by .cc
// files of tensor/ and of programs.
#pragma once

#include <type_traits>
#include <utility>

#include "base/util/result.h"

namespace doorbell::core {
class Buffer;
}

namespace doorbell::engine {

// As an exception; as Stopped where this thread was asked to stop.
[[noreturn, gnu::cold]] void throw_error(Error error);
// Throws Stopped where this thread is asked to stop. May run code of the user's: with no lock held.
void end_if_stopped();
// The error after which no exchange with other processes works.
Result<void> exchanges_work();
// Throws that error, or Stopped, where the work that was to write the buffer was stopped.
void refuse_poisoned(const core::Buffer& buffer);

// The value, or the Error as an exception.
template <class T>
T must(Result<T> result) {
  if (!result) [[unlikely]]
    throw_error(std::move(result).error());
  if constexpr (!std::is_void_v<T>) return std::move(result).value();
}

}  // namespace doorbell::engine
