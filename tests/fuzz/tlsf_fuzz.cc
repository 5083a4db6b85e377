// Tlsf against a map of what is held: no two pieces overlap, and every invariant of the allocator
// holds after every step.
#include "hcq/memory/tlsf.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "base/util/check.h"

using namespace doorbell;

extern "C" int LLVMFuzzerTestOneInput(const u8* data, std::size_t size);

// Input: log2 of the granule, granules / 8, then steps of two bytes: an allocation (log2 of its
// alignment in the low bits of the first byte, size in granules in the second), or where the first
// byte is at least 128 the release of one piece.
int LLVMFuzzerTestOneInput(const u8* data, std::size_t size) {
  if (size < 2 || size > 2000) return 0;
  const u64 granule = u64{1} << data[0] % 13, total = (data[1] + u64{1}) * 8 * granule;
  const u64 start = granule * 3;
  hcq::Tlsf heap(start, total, granule);
  std::map<u64, u64> held;
  u64 in_use = 0;
  for (usize i = 2; i + 1 < size; i += 2) {
    if (data[i] >= 128) {
      if (held.empty()) continue;
      const auto victim = std::next(held.begin(), data[i + 1] % static_cast<i64>(held.size()));
      heap.release(victim->first);
      in_use -= victim->second;
      held.erase(victim);
    } else {
      const u64 alignment = u64{1} << data[i] % 20, bytes = data[i + 1] * granule + data[i] / 64;
      const auto got = heap.allocate(bytes, alignment);
      if (!got) continue;
      const u64 taken = std::max<u64>(1, (bytes + granule - 1) / granule) * granule;
      CHECK(*got % alignment == 0 && *got >= start && *got + taken <= start + total);
      const auto after = held.lower_bound(*got);
      CHECK(after == held.end() || after->first >= *got + taken, "overlaps the next piece");
      CHECK(after == held.begin() || std::prev(after)->first + std::prev(after)->second <= *got,
            "overlaps the piece before");
      held[*got] = taken;
      in_use += taken;
    }
    CHECK_EQ(heap.in_use(), in_use);
    heap.check();
  }
  for (const auto& [begin, bytes] : held) heap.release(begin);
  CHECK(heap.allocate(total) == start, "the whole range did not come back");
  return 0;
}
