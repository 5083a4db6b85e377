// Room, and the ring's end.
#include "drivers/amd/packet_ring.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/util/check.h"
#include "drivers/amd/hw/aql.h"

namespace doorbell::amd {
namespace {

constexpr u64 kPacketWords = hw::kAqlPacketBytes / sizeof(u32);
// The last submission may not be read yet, and a ring that is full looks empty.
constexpr u64 kMinFree = kPacketWords;

}  // namespace

bool PacketRing::reserve(u64 words, const hcq::Timeline& timeline) {
  CHECK(words <= most(), "{} words of a ring that takes {} at once", words, most());
  put_ = start_;  // drops what was written and not committed
  const u64 at = put_ % ring_.size();
  const u64 skipped = !format_.may_wrap && at + words > ring_.size() ? ring_.size() - at : 0;
  const u64 end = put_ + skipped + words, room = ring_.size() - kMinFree;
  if (end - read_ > room) reclaim(timeline);
  if (end - read_ > room) return false;
  if (skipped != 0) std::fill_n(ring_.begin() + static_cast<i64>(at), skipped, format_.filler);
  put_ = start_ = put_ + skipped;
  limit_ = end;
  return true;
}

void PacketRing::reclaim(const hcq::Timeline& timeline) {
  while (first_chunk_ < chunks_.size() &&
         timeline.reached(chunks_[first_chunk_].position) == hcq::Timeline::Reached::Yes)
    read_ = chunks_[first_chunk_++].end;
  if (first_chunk_ * 2 < chunks_.size()) return;
  chunks_.erase(chunks_.begin(), chunks_.begin() + static_cast<i64>(first_chunk_));
  first_chunk_ = 0;
}

hcq::Position PacketRing::oldest() const {
  CHECK(first_chunk_ < chunks_.size(), "an idle ring of {} words has no room", ring_.size());
  return chunks_[first_chunk_].position;
}

std::span<u32> PacketRing::reserved() { return ring_.subspan(put_ % ring_.size(), limit_ - put_); }

void PacketRing::written(u64 words) {
  CHECK(words <= limit_ - put_, "{} words written where {} are reserved", words, limit_ - put_);
  put_ += words;
}

void PacketRing::write_packets(std::span<const u32> words) {
  CHECK(words.size() <= limit_ - put_, "{} words written where {} are reserved", words.size(),
        limit_ - put_);
  for (usize i = 0; i < words.size(); i += kPacketWords, put_ += kPacketWords) {
    u32* const slot = ring_.data() + put_ % ring_.size();
    std::memcpy(slot + 1, words.data() + i + 1, (kPacketWords - 1) * sizeof(u32));
    std::atomic_ref(*slot).store(words[i], std::memory_order_release);
  }
}

// Behind the signal of `end` lies its interrupt: only what was before this submission is read for
// sure when `end` is done.
u64 PacketRing::commit(hcq::Position end) {
  chunks_.push_back({end, start_});
  start_ = limit_ = put_;
  return format_.pointer_of(put_);
}

std::vector<u32> PacketRing::submission() const {
  std::vector<u32> words;
  for (u64 i = start_; i < put_; ++i) words.push_back(ring_[i % ring_.size()]);
  return words;
}

void PacketRing::restart() {
  start_ = put_ = limit_ = read_ = 0;
  chunks_.clear();
  first_chunk_ = 0;
}

}  // namespace doorbell::amd
