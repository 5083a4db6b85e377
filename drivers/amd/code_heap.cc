// Chunks of executable memory, each with a TLSF of its own.
#include "drivers/amd/code_heap.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/util/try.h"

namespace doorbell::amd {
namespace {

constexpr u64 kChunkBytes = u64{2} << 20, kGranule = 256;

}  // namespace

Result<u64> CodeHeap::allocate_in_chunk(u64 bytes, u64 alignment) {
  for (Chunk& chunk : chunks_)
    if (const std::optional<u64> address = chunk.free.allocate(bytes, alignment)) return *address;
  MemoryRequest request;
  request.bytes = (std::max(bytes, kChunkBytes) + kChunkBytes - 1) / kChunkBytes * kChunkBytes;
  request.executable = true;
  request.what = "code";
  TRY(std::unique_ptr<KfdMemory> memory, gpu_.allocate(request));
  hcq::Tlsf free(memory->address(), memory->bytes(), kGranule);
  chunks_.push_back({std::move(memory), std::move(free)});
  const std::optional<u64> address = chunks_.back().free.allocate(bytes, alignment);
  if (!address)
    return fail(ErrorKind::Unsupported, "code of {} bytes at a multiple of {}", bytes, alignment);
  return *address;
}

Result<CodeHeap::Range> CodeHeap::allocate(u64 bytes, u64 alignment, const std::string& kernel,
                                           u64 entry) {
  std::lock_guard lock(mutex_);
  sweep();
  TRY(const u64 address, allocate_in_chunk(bytes, std::max(alignment, kGranule)));
  kernels_[address] = {bytes, kernel, entry};
  return Range{address, bytes};
}

void CodeHeap::release(const Range& range, hcq::Fence until) {
  if (range.address == 0) return;
  std::lock_guard lock(mutex_);
  retired_.push_back({range, std::move(until)});
  sweep();
}

void CodeHeap::sweep() {
  std::erase_if(retired_, [&](const Retired& retired) {
    if (!retired.until.done()) return false;
    const u64 address = retired.range.address;
    for (Chunk& chunk : chunks_)
      if (address - chunk.memory->address() < chunk.memory->bytes()) chunk.free.release(address);
    kernels_.erase(address);
    return true;
  });
}

std::string CodeHeap::name_at(u64 address) const {
  std::lock_guard lock(mutex_);
  auto after = kernels_.upper_bound(address);
  if (after == kernels_.begin()) return {};
  const auto& [start, kernel] = *std::prev(after);
  if (address - start >= kernel.bytes) return {};
  // What it calls, and constants, may lie before it.
  const i64 offset = static_cast<i64>(address - start) - static_cast<i64>(kernel.entry);
  return fmt::format("{}{}{:#x}", kernel.name, offset < 0 ? '-' : '+', std::abs(offset));
}

}  // namespace doorbell::amd
