// All memory of an emulated machine (VRAM of every GPU, GTT, doorbells) as one sparse file without
// a name, mapped once in this process. A client maps parts of it by offset, through the descriptor
// or through this class; only used pages cost memory. Callers decide which buffer is where.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/os/mapping.h"
#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::emu {

// Thread safety: from any thread.
class Backing {
 public:
  // The thread sanitizer leaves programs 1.5 TiB of addresses for all that they map.
#if defined(__SANITIZE_THREAD__)
  static constexpr u64 kDefaultBytes = u64{1} << 38;
#else
  static constexpr u64 kDefaultBytes = u64{1} << 40;
#endif

  static Result<std::unique_ptr<Backing>> create(u64 bytes = kDefaultBytes);
  // With a name, so that it outlives this process: what the file has stays.
  static Result<std::unique_ptr<Backing>> open_file(const std::string& path,
                                                    u64 bytes = kDefaultBytes);
  ~Backing();
  Backing(const Backing&) = delete;
  Backing& operator=(const Backing&) = delete;

  // Whole pages, zero, at a multiple of `alignment` (a power of two). Offsets are reused as late as
  // possible, so that a mapping that outlives its buffer seldom shows another's bytes.
  Result<u64> allocate(u64 bytes, u64 alignment = 4096);
  // Returns the pages to the system.
  void free(u64 offset);

  u8* at(u64 offset) const { return base_ + offset; }
  u64 offset_of(const u8* host) const { return static_cast<u64>(host - base_); }
  bool owns(const u8* host) const { return host >= base_ && host < base_ + bytes_; }
  int descriptor() const { return descriptor_; }
  // Opens the memory again: another open file; -1 with errno. `flags` as for open().
  int open(int flags) const;
  u64 bytes() const { return bytes_; }

 private:
  Backing(int descriptor, u8* base, u64 bytes);
  static Result<std::unique_ptr<Backing>> map(int descriptor, u64 bytes);

  int descriptor_;
  u8* base_;
  u64 bytes_;
  std::mutex mutex_;         // guards the members below
  std::map<u64, u64> used_;  // offset -> bytes
  u64 next_ = 0;             // end of the last allocation
};

}  // namespace doorbell::emu
