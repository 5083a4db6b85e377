// Records of drivers/nv/hw from the words of one method, and from the values that a class's methods
// were given.
#pragma once

#include <algorithm>
#include <span>

#include "base/bits/record.h"

namespace doorbell::emu::nvgpu {

// `methods` has a word for each method of the class, by its offset.
template <class Record>
Record record_of(std::span<const u32> methods) {
  return doorbell::decode<Record>(
      std::span<const u32, Record::kWords>(methods.data() + Record::kMethod / 4, Record::kWords));
}

template <class Record>
Record record_of_word(u32 value) {
  const u32 words[1] = {value};
  return doorbell::decode<Record>(words);
}

// Whether bits are set that no field of the record claims.
template <class Record>
bool has_strays(std::span<const u32, Record::kWords> words) {
  const auto again = doorbell::encode(doorbell::decode<Record>(words));
  return !std::equal(words.begin(), words.end(), again.begin());
}

}  // namespace doorbell::emu::nvgpu
