// Which bits of an emulated machine's memory are undefined: never written since the memory was
// allocated, or copied from undefined bits. Bytes are identified by the host's address, so that all
// GPUs that map a byte, and the copy engines, agree. The GPUs report uses.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "base/util/types.h"

namespace doorbell::emu {

// Thread safety: from any thread.
class UndefinedMemory {
 public:
  static constexpr u64 kPage = 4096;

  // False: no bit of any memory is undefined, and the functions below need not be called.
  bool any() const { return any_.load(std::memory_order_relaxed); }

  // Makes [host, host + bytes) undefined.
  void allocate(const u8* host, u64 bytes);
  // Makes it defined: written with defined bytes, or freed.
  void define(const u8* host, u64 bytes);
  // Copies the state from `from` to `to`, which must not overlap. Returns the offset of the first
  // undefined byte.
  std::optional<u64> copy(const u8* from, const u8* to, u64 bytes);

  // One bits are undefined. read() returns whether there are any.
  bool read(const u8* host, std::span<u8> mask) const;
  void write(const u8* host, std::span<const u8> mask);

 private:
  struct Page {
    std::array<u8, kPage> mask;
    u32 undefined = 0;  // bytes that are not zero
  };

  bool is_fresh(u64 page) const;
  void take_out(u64 first, u64 last);
  void define_locked(u64 at, u64 bytes);
  bool read_locked(u64 at, std::span<u8> mask) const;
  void write_locked(u64 at, std::span<const u8> mask);
  void note_any() { any_.store(!fresh_.empty() || !pages_.empty(), std::memory_order_relaxed); }

  std::atomic<bool> any_{false};
  mutable std::mutex mutex_;                               // guards the members below: page numbers
  std::map<u64, u64> fresh_;                               // [first, last) never written
  absl::flat_hash_map<u64, std::unique_ptr<Page>> pages_;  // pages written in part
};

}  // namespace doorbell::emu
