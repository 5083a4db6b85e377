// Sizes of private memory.
#include "drivers/amd/scratch.h"

#include <algorithm>
#include <bit>

#include "base/util/check.h"
#include "base/util/try.h"
#include "drivers/amd/hw/compute_registers.h"

namespace doorbell::amd {
namespace {

// A wave's share is counted for this many lanes, whatever its size.
constexpr u64 kLanes = 64;
constexpr u32 kMinItemBytes = 128, kMaxItemBytes = 64 << 10;
// More waves than fit wait for others' memory, so this only costs speed.
constexpr u64 kMaxBytes = u64{1} << 30;

}  // namespace

hw::ScratchResource scratch_resource(const Scratch& scratch, bool wave32) {
  const hw::ScratchFormatGfx10 format{.index_stride = wave32 ? hw::IndexStride::Items32
                                                             : hw::IndexStride::Items64};
  return {.base = scratch.address,
          .records = static_cast<u32>(scratch.bytes_per_xcc),
          .unk_127_96 = encode(format)[0]};
}

Scratch ScratchPool::current() const {
  std::lock_guard lock(mutex_);
  return current_;
}

Result<Scratch> ScratchPool::get(u32 item_bytes) {
  if (item_bytes == 0) return Scratch{};
  std::lock_guard lock(mutex_);
  if (current_.item_bytes < item_bytes) {
    TRY(current_, grow(item_bytes));
  }
  return current_;
}

u32 ScratchPool::ring_size(u64 waves, u64 wave_bytes) const {
  const u16 count = static_cast<u16>(waves);
  const u32 size = static_cast<u32>(wave_bytes / caps_.scratch_granule);
  switch (caps_.scratch_ring) {
    case ScratchRing::Gfx9: return encode(hw::ComputeTmpringSizeGfx9{count, size})[0];
    case ScratchRing::Gfx11: return encode(hw::ComputeTmpringSizeGfx11{count, size})[0];
    case ScratchRing::Gfx12: return encode(hw::ComputeTmpringSizeGfx12{count, size})[0];
  }
  UNREACHABLE("scratch ring {}", static_cast<int>(caps_.scratch_ring));
}

Result<Scratch> ScratchPool::grow(u32 item_bytes) {
  const NodeProperties& properties = gpu_.node().properties;
  // A multiple of what a wave's share is counted in.
  const u64 step = caps_.scratch_granule / kLanes;
  const u64 wanted = std::bit_ceil(std::max(item_bytes, kMinItemBytes));
  const u64 per_item = (wanted + step - 1) / step * step, per_wave = per_item * kLanes;
  if (wanted > kMaxItemBytes)
    return fail(ErrorKind::Unsupported,
                "a kernel needs {} bytes of private memory per work item, at most {} are possible",
                item_bytes, kMaxItemBytes);
  // The waves that may run at once: of an XCC, evenly over its engines where they are counted so.
  const u64 engines = caps_.scratch_waves_per_engine ? properties.shader_engines() : 1;
  const u64 slots = std::max<u64>(properties.max_slots_scratch_cu, 1) * properties.compute_units();
  constexpr u64 kMaxWaves = 4095;  // of COMPUTE_TMPRING_SIZE.WAVES
  u64 waves = std::max<u64>(slots / engines, 1);
  waves = std::min(waves, std::max<u64>(kMaxBytes / (per_wave * engines), 1));
  waves = std::min(waves, kMaxWaves);
  Scratch scratch;
  scratch.item_bytes = static_cast<u32>(per_item);
  scratch.bytes_per_xcc = waves * engines * per_wave;
  scratch.ring_size = ring_size(waves, per_wave);
  MemoryRequest request;
  request.bytes = scratch.bytes_per_xcc * properties.num_xcc;
  request.what = "private memory of kernels";
  TRY(std::unique_ptr<KfdMemory> area, gpu_.allocate(request));
  scratch.address = area->address();
  areas_.push_back(std::move(area));
  return scratch;
}

}  // namespace doorbell::amd
