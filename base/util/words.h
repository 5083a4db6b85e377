// Bytes as words of 32 bits, in the host's order.
//
// Thread safety: a pure function.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "base/util/types.h"

namespace doorbell {

// Fewer than four bytes at the end are left out.
inline std::vector<u32> words_of(std::span<const std::byte> bytes) {
  std::vector<u32> words(bytes.size() / sizeof(u32));
  std::ranges::copy(bytes.first(words.size() * sizeof(u32)),
                    std::as_writable_bytes(std::span(words)).begin());
  return words;
}

}  // namespace doorbell
