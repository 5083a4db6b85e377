// must(): the border between Result, below the tensor API, and exceptions, at it. Included by .cc
// files of tensor/ and of programs.
#pragma once

#include <type_traits>
#include <utility>

#include "base/util/result.h"

namespace doorbell::engine {

// The value, or the Error as an exception.
template <class T>
T must(Result<T> result) {
  if (!result) [[unlikely]]
    throw std::move(result).error();
  if constexpr (!std::is_void_v<T>) return std::move(result).value();
}

}  // namespace doorbell::engine
