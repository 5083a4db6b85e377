// Whole 64-bit fields, such as the CPU's operands and most addresses, take one store.
#include "hcq/queue/patch.h"

#include <cstring>

#include "base/util/check.h"

namespace doorbell::hcq {

void apply(const Patch& patch, u64 value, std::span<u32> words) {
  value = (value + patch.addend) >> patch.shift;
  if (patch.bits.lo == 0 && patch.bits.hi == 63) {
    CHECK(patch.word + 2 <= words.size(), "patch of word {} in {} words", patch.word, words.size());
    // memcpy, because a command may be read as 64-bit numbers.
    std::memcpy(words.data() + patch.word, &value, sizeof value);
    return;
  }
  CHECK(patch.word < words.size(), "patch of word {} in {} words", patch.word, words.size());
  deposit(words.subspan(patch.word), patch.bits, value & patch.bits.max());
}

}  // namespace doorbell::hcq
