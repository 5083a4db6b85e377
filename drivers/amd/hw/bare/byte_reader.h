// ByteReader: little-endian numbers at offsets of a table that firmware or a file gave: what lies
// outside is an error that names the table, never an access.
#pragma once

#include <bit>
#include <cstring>
#include <span>
#include <string_view>

#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::amd::hw {

class ByteReader {
 public:
  ByteReader(std::span<const u8> bytes, std::string_view what) : bytes_(bytes), what_(what) {}

  template <class T>
  Result<T> at(u64 offset) const {
    if (offset > bytes_.size() || sizeof(T) > bytes_.size() - offset)
      return fail(ErrorKind::Corrupt, "{} has {} bytes, a number of {} is expected at {:#x}", what_,
                  bytes_.size(), sizeof(T), offset);
    T value;
    static_assert(std::endian::native == std::endian::little);
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  Result<std::span<const u8>> part(u64 offset, u64 bytes) const {
    if (offset > bytes_.size() || bytes > bytes_.size() - offset)
      return fail(ErrorKind::Corrupt, "{} has {} bytes, {} are expected at {:#x}", what_,
                  bytes_.size(), bytes, offset);
    return bytes_.subspan(offset, bytes);
  }

 private:
  std::span<const u8> bytes_;
  std::string_view what_;
};

}  // namespace doorbell::amd::hw
