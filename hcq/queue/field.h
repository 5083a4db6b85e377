// Field: where a field of a record of hw/ lies in its words, as patches name it. Drivers build
// operations with it whose operands come with each replay.
#pragma once

#include <string_view>

#include "base/bits/record.h"
#include "base/util/check.h"

namespace doorbell::hcq {

// The bits of a record's field in its words, as patches name them.
struct Field {
  u32 word = 0;
  Bits bits{0, 0};
  u8 shift = 0;
};

template <class T>
consteval Field field_of(std::string_view name) {
  Field found;
  bool known = false;
  T record{};
  T::fields(record, [&](const char* field, Bits bits, const auto&, Shift shift = {}) {
    if (name != field) return;
    known = true;
    const unsigned word = bits.lo / 32 * 32;
    found = {word / 32, Bits{bits.hi - word, bits.lo - word}, static_cast<u8>(shift.count)};
    // An aligned address that fills two words is one 64-bit store.
    if (found.shift == found.bits.lo && found.bits.hi == 63) found = {word / 32, Bits{63, 0}, 0};
  });
  CHECK(known);
  return found;
}

}  // namespace doorbell::hcq
