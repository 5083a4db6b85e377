// RetireRing: offsets in a ring of bytes, allocated in order and reclaimed in order, once the
// position with which they were retired is done. See argument_ring.h and staging_ring.h for the
// memory.
//
// Contract: nothing here blocks. If allocate() has no room, the caller waits until oldest() is
// done, reclaims and tries again.
// Thread safety: one thread at a time.
#pragma once

#include <optional>
#include <vector>

#include "hcq/signal/timeline.h"

namespace doorbell::hcq {

class RetireRing {
 public:
  explicit RetireRing(u64 size) : size_(size) {}

  u64 size() const { return size_; }
  // An offset at a multiple of `alignment` (a power of two) with `bytes` contiguous bytes behind
  // it; empty while too much is in flight. More than size() fails a CHECK.
  std::optional<u64> allocate(u64 bytes, u64 alignment);
  // Everything allocated since the last call is free when `position` is done.
  void retire(Position position);
  // Reclaims finished ranges.
  void reclaim(const Timeline& timeline);
  // The position to wait for if allocate() returns nothing. Empty: the caller has not retired what
  // it allocated.
  std::optional<Position> oldest() const;

 private:
  struct Chunk {
    Position position;
    u64 end;
  };
  const u64 size_;
  // Bytes ever given out and taken back; their difference is in use. They never wrap.
  u64 head_ = 0, tail_ = 0;
  u64 retired_ = 0;  // head_ at the last retire()
  std::vector<Chunk>
      chunks_;  // from first_ on; a vector, so that the steady state allocates nothing
  usize first_ = 0;
};

}  // namespace doorbell::hcq
