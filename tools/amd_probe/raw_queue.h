// RawQueue: a queue of the kernel with nothing of the driver around it: the steps write its packets
// and ring its doorbell themselves, so that what fails is the one thing that they try.
#pragma once

#include <memory>
#include <vector>

#include "base/bits/record.h"
#include "drivers/amd/kernel/kfd_queue.h"
#include "tools/amd_probe/card.h"

namespace doorbell::tools {

class RawQueue {
 public:
  // Notes its packets in the card's trace.
  static Result<RawQueue> make(Card& card, amd::QueueType type);

  // Packets at the ring's end, which they must not reach; those of AQL with their header last.
  void put(std::span<const u32> words);
  template <class T>
  RawQueue& operator<<(const T& record) {
    put(encode(record));
    return *this;
  }
  void ring_doorbell();
  // The engine has read all that was rung for.
  bool is_read() const;
  u64 read_pointer() const { return queue_->read_pointer(); }
  u64 write_pointer() const { return queue_->write_pointer(); }
  const amd::KfdQueue& hardware() const { return *queue_; }

 private:
  RawQueue(Card& card, std::unique_ptr<amd::KfdQueue> queue)
      : card_(&card), queue_(std::move(queue)) {}

  Card* card_;
  std::unique_ptr<amd::KfdQueue> queue_;
  u64 words_ = 0;  // written so far
};

}  // namespace doorbell::tools
