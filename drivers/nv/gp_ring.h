// GpRing: the entries of a channel's GPFIFO: which are free, and handing new ones over.
//
// Contract: a writer reserves before it pushes, and pushes no more than it reserved. Nothing here
// waits. Where reserve() finds no room, the caller waits until oldest() is done and asks again.
// What is pushed and not committed is written over by the next reserve().
//
// Thread safety: one thread at a time, under the lock of the queue.
#pragma once

#include <span>
#include <vector>

#include "drivers/nv/hw/host/gp_entry.h"
#include "hcq/signal/timeline.h"

namespace doorbell::nv {

class GpRing {
 public:
  // Two words an entry; borrowed from the channel. The number of entries is a power of two.
  explicit GpRing(std::span<u32> ring) : ring_(ring) {}

  // Entries that one submission may have.
  u32 most() const { return entries() / 4; }
  // False: too much is in flight.
  bool reserve(u32 count, const hcq::Timeline& timeline);
  hcq::Position oldest() const { return chunks_[first_].position; }
  void push(const hw::GpEntry& entry);
  // Ends the submission: what was pushed is read when `end` is done. The put pointer to announce.
  u32 commit(hcq::Position end);
  // The entries that were pushed since reserve(), for messages.
  std::vector<u32> submission() const;

 private:
  struct Chunk {
    hcq::Position position;
    u64 end;  // entries since the beginning
  };
  u32 entries() const { return static_cast<u32>(ring_.size() / hw::GpEntry::kWords); }

  const std::span<u32> ring_;
  // Entries since the beginning: committed, pushed, reserved, and those that are read for sure.
  u64 committed_ = 0, put_ = 0, limit_ = 0, read_ = 0;
  std::vector<Chunk> chunks_;  // from first_ on
  usize first_ = 0;
};

}  // namespace doorbell::nv
