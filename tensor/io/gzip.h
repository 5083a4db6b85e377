// Bytes packed by gzip. Reading trusts nothing.
#pragma once

#include <span>
#include <vector>

#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::io {

inline bool is_gzip(std::span<const u8> bytes) {
  return bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

// A gzip member, unpacked; at most `most` bytes.
Result<std::vector<u8>> unpack_gzip(std::span<const u8> packed, usize most);

}  // namespace doorbell::io
