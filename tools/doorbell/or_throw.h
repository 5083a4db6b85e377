// Errors of the tool are thrown, and caught in one place, tool.cc.
#pragma once

#include <type_traits>
#include <utility>

#include "base/util/result.h"

namespace doorbell::tools {

// The result's value; throws its error.
template <class T>
T or_throw(Result<T> result) {
  if (!result) throw std::move(result).error();
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace doorbell::tools
