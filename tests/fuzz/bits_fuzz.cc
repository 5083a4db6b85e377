// deposit and extract of base/bits against a model that moves one bit at a time.
#include "base/bits/bits.h"

#include <array>
#include <cstring>

#include "base/util/check.h"

using namespace doorbell;

extern "C" int LLVMFuzzerTestOneInput(const u8* data, std::size_t size);

// Input: lo (1 byte), width - 1 (1 byte), value (8 bytes), then what the words held before.
int LLVMFuzzerTestOneInput(const u8* data, std::size_t size) {
  if (size < 10) return 0;
  constexpr unsigned kWords = 6;
  std::array<u32, kWords> words{};
  std::memcpy(words.data(), data + 10, std::min<usize>(size - 10, sizeof words));

  unsigned width = data[1] % 64 + 1u, lo = data[0] % (kWords * 32 - width + 1);
  Bits bits{lo + width - 1, lo};
  u64 value;
  std::memcpy(&value, data + 2, sizeof value);
  value &= bits.max();

  std::array<u32, kWords> expected = words;
  for (unsigned i = 0; i < width; ++i) {
    u32 bit = 1u << ((lo + i) % 32);
    u32& word = expected[(lo + i) / 32];
    word = (value >> i & 1) ? word | bit : word & ~bit;
  }
  deposit(words, bits, value);
  CHECK(words == expected, "deposit of {:#x} in {}:{}", value, bits.hi, bits.lo);
  CHECK_EQ(extract(words, bits), value);
  return 0;
}
