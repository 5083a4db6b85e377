// A hash table from buffers to numbers, and blocks of pointers, which never move, for the way back.
#include "hcq/software/buffer_addresses.h"

#include <absl/container/flat_hash_map.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>

#include "base/util/check.h"

namespace doorbell::hcq {
namespace {

constexpr u32 kOffsetBits = 40;
constexpr u64 kBlock = 4096, kMaxBuffers = u64{1} << (63 - kOffsetBits);
constexpr u64 kMark = u64{1} << 63;

using Block = std::array<core::Buffer*, kBlock>;

struct Table {
  std::mutex mutex;                                       // guards what follows
  absl::flat_hash_map<const core::Buffer*, u64> numbers;  // looked up, never iterated
  // Read without the lock: an address is given out after its pointer was written.
  std::array<std::atomic<Block*>, kMaxBuffers / kBlock> blocks{};
};

Table& table() {
  static Table& table = *new Table;  // never freed: work may outlive main()
  return table;
}

}  // namespace

Result<GpuAddr> numbered_address(const core::Buffer& buffer) {
  // Valid for good, because numbers are. Calls have few arguments, and allocators give the same
  // memory again.
  constexpr usize kRecent = 64;
  struct Recent {
    const core::Buffer* buffer = nullptr;
    u64 address = 0;
  };
  static constinit thread_local std::array<Recent, kRecent> recents{};
  Recent& recent = recents[(reinterpret_cast<u64>(&buffer) >> 5) % kRecent];
  if (recent.buffer == &buffer) [[likely]]
    return GpuAddr{recent.address};
  if (buffer.bytes() >= i64{1} << kOffsetBits)
    return fail(ErrorKind::Unsupported, "a buffer of {} bytes, at most {} have an address",
                buffer.bytes(), (i64{1} << kOffsetBits) - 1);
  Table& all = table();
  std::lock_guard lock(all.mutex);
  const auto [at, is_new] = all.numbers.try_emplace(&buffer, all.numbers.size());
  const u64 number = at->second;
  if (is_new) {
    if (number >= kMaxBuffers) {
      all.numbers.erase(at);
      return fail(ErrorKind::OutOfMemory, "{} buffers have addresses, there are no more", number);
    }
    std::atomic<Block*>& block = all.blocks[number / kBlock];
    if (block.load(std::memory_order_relaxed) == nullptr)
      block.store(new Block(), std::memory_order_release);
    // Programs take the buffer as one that they may write.
    (*block.load(std::memory_order_relaxed))[number % kBlock] = const_cast<core::Buffer*>(&buffer);
  }
  recent = {&buffer, kMark | number << kOffsetBits};
  return GpuAddr{recent.address};
}

bool is_numbered_address(u64 address) { return (address & kMark) != 0; }

core::BufferView view_at(u64 address) {
  CHECK(is_numbered_address(address), "{:#x} is no address of a buffer", address);
  const u64 number = (address & ~kMark) >> kOffsetBits;
  const Block* block = table().blocks[number / kBlock].load(std::memory_order_acquire);
  CHECK(block != nullptr, "buffer {} has no number", number);
  return {(*block)[number % kBlock], static_cast<i64>(address & ((u64{1} << kOffsetBits) - 1))};
}

}  // namespace doorbell::hcq
