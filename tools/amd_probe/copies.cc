// Copies of a bare copy queue: host to VRAM, to VRAM again, back to the host, compared by bytes.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/util/try.h"
#include "drivers/amd/hw/sdma/copy.h"
#include "drivers/amd/hw/sdma/sync.h"
#include "tools/amd_probe/raw_queue.h"

namespace doorbell::tools {
namespace {

namespace hw = amd::hw;

constexpr u8 kUncached = 3;        // MTYPE_UC
constexpr u64 kGuard = 64;         // bytes on both sides, which must stay
constexpr u64 kNarrow = 1u << 22;  // bytes that the narrowest description of the count allows

u8 pattern(u64 at) { return static_cast<u8>(at * 0x9e37'79b9 >> 11); }

struct Copies {
  Card& card;
  RawQueue queue;
  std::unique_ptr<amd::KfdMemory> from, near, far, to, done;
  u64 count = 0;

  static Result<Copies> make(Card& card, u64 bytes) {
    const u64 all = bytes + 2 * kGuard;
    TRY(RawQueue queue, RawQueue::make(card, amd::QueueType::Sdma));
    TRY(std::unique_ptr<amd::KfdMemory> from, card.host_memory(all));
    TRY(std::unique_ptr<amd::KfdMemory> near,
        card.gpu.allocate({.bytes = all, .what = "the probe's video memory"}));
    TRY(std::unique_ptr<amd::KfdMemory> far,
        card.gpu.allocate({.bytes = all, .what = "the probe's video memory"}));
    TRY(std::unique_ptr<amd::KfdMemory> to, card.host_memory(all));
    TRY(std::unique_ptr<amd::KfdMemory> done, card.host_memory(4096));
    for (u64 i = 0; i < all; ++i) from->host()[i] = pattern(i);
    return Copies{card,           std::move(queue), std::move(from), std::move(near),
                  std::move(far), std::move(to),    std::move(done)};
  }

  void put(u64 to_address, u64 from_address, u64 bytes) {
    queue << hw::SdmaCopyLinear{
        .count = static_cast<u32>(bytes - 1), .src = from_address, .dst = to_address};
  }

  // `shift`: how far the addresses are from those of the memory, each another way.
  std::optional<Outcome> run(u64 bytes, u64 shift) {
    constexpr u8 kStale = 0xdb;
    const u64 shown = std::min(to->bytes(), bytes + 2 * kGuard);
    std::memset(to->host(), kStale, shown);
    const u64 source = kGuard - shift, near_at = kGuard, far_at = kGuard - 2 * shift,
              target = kGuard - 3 * shift;
    put(near->address() + near_at, from->address() + source, bytes);
    put(far->address() + far_at, near->address() + near_at, bytes);
    put(to->address() + target, far->address() + far_at, bytes);
    ++count;
    queue << hw::SdmaFence{.mtype = card.caps.sdma_fence_mtype ? kUncached : u8{0},
                           .addr = done->address(),
                           .data = static_cast<u32>(count)};
    queue.ring_doorbell();
    const auto raised = std::atomic_ref<u64>(*reinterpret_cast<u64*>(done->host()));
    const Fact fact = bytes > kNarrow ? Fact::SdmaLargest : Fact::SdmaCounts;
    if (!card.wait([&] { return raised == count; }))
      return differs(fact, fmt::format("copies of {} bytes to end", bytes), "they do not");
    for (u64 i = 0; i < shown; ++i) {
      const bool is_copied = i >= target && i < target + bytes;
      const u8 expected = is_copied ? pattern(source + i - target) : kStale;
      if (to->host()[i] != expected)
        return differs(
            fact,
            fmt::format("{:#04x} {} a copy of {} bytes", expected,
                        is_copied ? fmt::format("at byte {} of", i - target) : "left beside",
                        bytes),
            fmt::format("{:#04x}", to->host()[i]));
    }
    return {};
  }
};

Result<Outcome> copy_bytes(Card& card) {
  const u64 most = std::min(card.caps.sdma_copy_bytes, kNarrow + 4096);
  TRY(Copies copies, Copies::make(card, most));
  for (const u64 bytes : {1, 2, 3, 4, 5, 63, 64, 65, 255, 256, 257, 4095, 4096, 4097, 65536})
    for (const u64 shift : {0, 1, 4})
      if (std::optional<Outcome> found = copies.run(bytes, shift)) return *found;
  for (const u64 bytes : {kNarrow - 1, kNarrow, kNarrow + 1, kNarrow + 4096})
    if (bytes <= most)
      if (std::optional<Outcome> found = copies.run(bytes, 0)) return *found;
  return ok(
      fmt::format("{} times host to VRAM to VRAM to host, 1 to {} bytes", copies.count, most));
}

// As much as a packet may have.
Result<Outcome> copy_most(Card& card) {
  const u64 most = card.caps.sdma_copy_bytes;
  if (most <= kNarrow + 4096) return not_tried(fmt::format("{} bytes were", most));
  if (!card.options.large)
    return not_tried(fmt::format("{} bytes take a while: only with --large", most));
  TRY(Copies copies, Copies::make(card, most));
  for (const u64 bytes : {most - 1, most})
    if (std::optional<Outcome> found = copies.run(bytes, 0)) return *found;
  return ok(fmt::format("{} bytes by one packet", most));
}

constexpr Fact kCopyFacts[] = {Fact::SdmaCounts, Fact::SdmaLargest};
constexpr Fact kLargestFacts[] = {Fact::SdmaLargest};
constexpr Step kSteps[] = {
    {"copies", kCopyFacts, "SDMA signals", false, copy_bytes},
    {"largest copies", kLargestFacts, "copies", false, copy_most},
};

}  // namespace

std::span<const Step> copy_steps() { return kSteps; }

}  // namespace doorbell::tools
