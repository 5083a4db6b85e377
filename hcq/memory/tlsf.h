// Tlsf: two-level segregated fit over a range of numbers: addresses of a GPU's virtual memory, or
// offsets in a heap. Nothing is written into the range itself, so it may be memory that the host
// cannot see. allocate() and release() take constant time whatever has gone before; a block is at
// most one size class (1/16) larger than needed to be chosen, and unused ends go back.
// After Masmano et al., "TLSF: a new dynamic memory allocator for real-time systems", ECRTS 2004.
//
// Thread safety: one thread at a time.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "base/util/types.h"

namespace doorbell::hcq {

class Tlsf {
 public:
  // Allocates from [start, start + size) in multiples of `granule`, a power of two that divides
  // both.
  Tlsf(u64 start, u64 size, u64 granule);

  // Empty if no free block is large enough. `alignment` is a power of two.
  std::optional<u64> allocate(u64 bytes, u64 alignment = 1);
  // Takes a result of allocate(); anything else fails a CHECK.
  void release(u64 address);

  u64 in_use() const { return in_use_; }
  // Checks every invariant; for tests.
  void check() const;

 private:
  static constexpr u32 kSubBits = 4, kSubs = 1 << kSubBits, kClasses = 64 - kSubBits + 1;
  static constexpr u32 kNone = ~u32{0};

  struct Block {
    u64 start, size;                     // in granules
    u32 before = kNone, after = kNone;   // neighbours in the range
    u32 previous = kNone, next = kNone;  // in the free list of its class
    bool free = false;
  };
  struct Class {
    u32 level, sub;
  };
  static Class class_of(u64 size);
  u32 find(u64 size) const;
  u32 find_rounded(u64 size) const;
  u32 make_block(u64 start, u64 size);
  void insert(u32 index);
  void remove(u32 index);
  // Cuts a block in use after `size`; the rest becomes a block in use.
  u32 split(u32 index, u64 size);
  // Swallows the neighbour after it.
  void join(u32 index);

  const u64 start_, granule_;
  u64 total_ = 0, in_use_ = 0;
  std::vector<Block> blocks_;
  std::vector<u32> spare_;  // of blocks_, unused
  u64 levels_ = 0;          // bit: some list of the level is not empty
  std::array<u32, kClasses> subs_{};
  std::array<std::array<u32, kSubs>, kClasses> lists_;
  absl::flat_hash_map<u64, u32> used_;  // start -> block
};

}  // namespace doorbell::hcq
