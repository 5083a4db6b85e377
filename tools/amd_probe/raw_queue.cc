// Writing rings and doorbells.
// What the packets say is for the steps.
#include "tools/amd_probe/raw_queue.h"

#include <algorithm>
#include <atomic>

#include "base/util/check.h"
#include "base/util/try.h"
#include "drivers/amd/packet_format.h"

namespace doorbell::tools {

Result<RawQueue> RawQueue::make(Card& card, amd::QueueType type) {
  constexpr u64 kRingBytes = 64 << 10;
  TRY(std::unique_ptr<amd::KfdQueue> queue,
      amd::KfdQueue::make(card.gpu, card.caps, type, kRingBytes));
  return RawQueue(card, std::move(queue));
}

void RawQueue::put(std::span<const u32> words) {
  const std::span<u32> ring = queue_->ring();
  CHECK(words_ + words.size() <= ring.size(), "{} words behind {} in a ring of {}", words.size(),
        words_, ring.size());
  std::copy(words.begin() + 1, words.end(), ring.begin() + static_cast<std::ptrdiff_t>(words_) + 1);
  std::atomic_ref<u32>(ring[words_]).store(words[0], std::memory_order_release);
  words_ += words.size();
  std::string text =
      amd::hw::stream_text(amd::format_of(queue_->type()).stream, card_->caps.generation, words);
  while (text.ends_with('\n')) text.pop_back();
  card_->trace.push_back(std::move(text));
}

void RawQueue::ring_doorbell() {
  const amd::PacketFormat& format = amd::format_of(queue_->type());
  const u64 pointer = format.pointer_of(words_);
  queue_->ring_doorbell(pointer, pointer - format.doorbell_lag);
}

bool RawQueue::is_read() const { return queue_->read_pointer() == queue_->write_pointer(); }

}  // namespace doorbell::tools
