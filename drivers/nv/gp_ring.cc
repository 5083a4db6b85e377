// Room in the ring, and its entries.
#include "drivers/nv/gp_ring.h"

#include <algorithm>

#include "base/util/check.h"

namespace doorbell::nv {

bool GpRing::reserve(u32 count, const hcq::Timeline& timeline) {
  CHECK(count <= most(), "{} entries in a ring of {}", count, entries());
  while (first_ < chunks_.size() &&
         timeline.reached(chunks_[first_].position) == hcq::Timeline::Reached::Yes)
    read_ = chunks_[first_++].end;
  if (first_ == chunks_.size()) {
    chunks_.clear();
    first_ = 0;
  }
  // A full ring would look like an empty one.
  if (committed_ + count - read_ >= entries()) return false;
  put_ = committed_;
  limit_ = committed_ + count;
  return true;
}

void GpRing::push(const hw::GpEntry& entry) {
  CHECK(put_ < limit_, "more entries than were reserved");
  const auto words = encode(entry);
  const usize at = put_ % entries() * hw::GpEntry::kWords;
  std::copy(words.begin(), words.end(), ring_.begin() + static_cast<i64>(at));
  ++put_;
}

u32 GpRing::commit(hcq::Position end) {
  chunks_.push_back({end, put_});
  limit_ = committed_ = put_;
  return static_cast<u32>(put_ % entries());
}

std::vector<u32> GpRing::submission() const {
  std::vector<u32> words;
  for (u64 i = committed_; i < put_; ++i)
    for (usize j = 0; j < hw::GpEntry::kWords; ++j)
      words.push_back(ring_[i % entries() * hw::GpEntry::kWords + j]);
  return words;
}

}  // namespace doorbell::nv
