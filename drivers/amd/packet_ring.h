// PacketRing: the ring of a hardware queue: which of its words are free, and handing new ones over.
//
// Contract: a writer reserves before it writes, and writes no more than it reserved; more fails a
// CHECK. Nothing here waits. Where reserve() finds no room, the caller waits until oldest() is done
// and asks again; a submission of at most most() words then finds room in the end. What is written
// and not committed is written over by the next reserve().
//
// Thread safety: one thread at a time, under the lock of the queue.
// Memory ordering: whoever rings the doorbell with commit()'s answer makes the words visible first;
// AQL headers are visible after the rest of their packets.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "drivers/amd/packet_format.h"
#include "hcq/signal/timeline.h"

namespace doorbell::amd {

class PacketRing {
 public:
  // `ring` is borrowed from the hardware queue.
  PacketRing(std::span<u32> ring, const PacketFormat& format) : ring_(ring), format_(format) {}

  // Words that one submission may have: it must fit beside the one before, which may not be read
  // yet, and beside what is skipped at the ring's end.
  u64 most() const { return ring_.size() / 4; }

  // Begins a submission of up to `words`. False: too much is in flight.
  bool reserve(u64 words, const hcq::Timeline& timeline);
  // What to wait for then.
  hcq::Position oldest() const;
  // The reserved words, behind each other, and how many of them from the first on were written.
  // For formats that do not wrap.
  std::span<u32> reserved();
  void written(u64 words);
  // Writes whole AQL packets, which wrap. A packet's header hands it to the device, and so is
  // stored last.
  void write_packets(std::span<const u32> words);
  // Ends the submission: what came before it is read when `end` is done. The write pointer to
  // announce.
  u64 commit(hcq::Position end);

  // The words of the submission that is being made, for messages.
  std::vector<u32> submission() const;
  // The queue was made anew, with pointers of zero.
  void restart();

 private:
  struct Chunk {
    hcq::Position position;
    u64 end;  // words since the beginning that are read when the position is done
  };
  void reclaim(const hcq::Timeline& timeline);

  const std::span<u32> ring_;
  const PacketFormat& format_;
  // Words since the beginning: where the submission that is being made starts, its words so far,
  // the end of what is reserved for it, and up to where the device has read for sure.
  u64 start_ = 0, put_ = 0, limit_ = 0, read_ = 0;
  std::vector<Chunk> chunks_;  // from first_chunk_ on
  usize first_chunk_ = 0;
};

}  // namespace doorbell::amd
