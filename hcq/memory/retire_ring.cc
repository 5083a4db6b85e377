// A piece that does not fit before the end of the ring begins at its start; the end is in use until
// then.
#include "hcq/memory/retire_ring.h"

#include <bit>

#include "base/util/check.h"

namespace doorbell::hcq {

std::optional<u64> RetireRing::allocate(u64 bytes, u64 alignment) {
  CHECK(std::has_single_bit(alignment) && size_ % alignment == 0, "alignment {}", alignment);
  CHECK(bytes <= size_, "{} bytes from a ring of {}", bytes, size_);
  // With nothing in use, start over at 0, so that size() bytes always fit.
  if (head_ == tail_) head_ = tail_ = retired_ = (head_ + size_ - 1) / size_ * size_;
  u64 start = (head_ + alignment - 1) / alignment * alignment;
  if (start % size_ + bytes > size_) start = (start / size_ + 1) * size_;
  if (start + bytes - tail_ > size_) return std::nullopt;
  head_ = start + bytes;
  return start % size_;
}

void RetireRing::retire(Position position) {
  if (head_ == retired_) return;
  retired_ = head_;
  chunks_.push_back({position, head_});
}

void RetireRing::reclaim(const Timeline& timeline) {
  while (first_ < chunks_.size() &&
         timeline.reached(chunks_[first_].position) == Timeline::Reached::Yes)
    tail_ = chunks_[first_++].end;
  if (first_ * 2 < chunks_.size()) return;
  chunks_.erase(chunks_.begin(), chunks_.begin() + static_cast<std::ptrdiff_t>(first_));
  first_ = 0;
}

std::optional<Position> RetireRing::oldest() const {
  if (first_ == chunks_.size()) return std::nullopt;
  return chunks_[first_].position;
}

}  // namespace doorbell::hcq
