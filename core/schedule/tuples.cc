// The table of interned tuples.
#include "core/schedule/tuples.h"

#include <algorithm>

#include "base/util/hash.h"

namespace doorbell::core {

u32 Tuples::intern(std::span<const UOp> items) {
  u64 hash = items.size();
  for (UOp item : items) hash = hash_combine(hash, item.node()->hash);
  usize mask = table_.size() - 1, slot = hash & mask;
  for (; table_[slot]; slot = (slot + 1) & mask) {
    u32 id = table_[slot] - 1;
    if (hashes_[id] == hash && std::ranges::equal((*this)[id], items)) return id;
  }
  u32 id = size();
  table_[slot] = id + 1;
  hashes_.push_back(hash);
  items_.insert(items_.end(), items.begin(), items.end());
  starts_.push_back(items_.size());
  if (usize{size()} * 2 > table_.size()) grow();
  return id;
}

void Tuples::grow() {
  std::vector<u32> bigger(table_.size() * 2, 0);
  usize mask = bigger.size() - 1;
  for (u32 id = 0; id < size(); ++id) {
    usize slot = hashes_[id] & mask;
    while (bigger[slot]) slot = (slot + 1) & mask;
    bigger[slot] = id + 1;
  }
  table_ = std::move(bigger);
}

}  // namespace doorbell::core
