// All memory of an emulated machine (VRAM of every GPU, GTT, doorbells) as one sparse file without
// a name, mapped here once. A client maps parts of it by their offset, through the descriptor or
// through us; only pages that were touched cost memory. Allocators decide which buffer is where.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "base/os/mapping.h"
#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::emu {

// Thread safety: from any thread.
class Backing {
 public:
  static constexpr u64 kDefaultBytes = u64{1} << 40;

  static Result<std::unique_ptr<Backing>> create(u64 bytes = kDefaultBytes);
  ~Backing();
  Backing(const Backing&) = delete;
  Backing& operator=(const Backing&) = delete;

  // Whole pages, zero, at a multiple of `alignment` (a power of two). Offsets are used again as
  // late as possible, so that a mapping that outlives its buffer seldom shows another's bytes.
  Result<u64> allocate(u64 bytes, u64 alignment = 4096);
  // Gives the pages back to the system.
  void free(u64 offset);

  u8* at(u64 offset) const { return base_ + offset; }
  u64 offset_of(const u8* host) const { return static_cast<u64>(host - base_); }
  bool owns(const u8* host) const { return host >= base_ && host < base_ + bytes_; }
  int descriptor() const { return descriptor_; }
  // Opened once more: another open file of the same memory; -1 with errno. `flags` as of open().
  int open(int flags) const;
  u64 bytes() const { return bytes_; }

 private:
  Backing(int descriptor, u8* base, u64 bytes);

  int descriptor_;
  u8* base_;
  u64 bytes_;
  std::mutex mutex_;         // the rest
  std::map<u64, u64> used_;  // offset -> bytes
  u64 next_ = 0;             // where the last allocation ended
};

}  // namespace doorbell::emu
