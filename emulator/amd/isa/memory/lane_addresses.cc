// The addresses of FLAT, GLOBAL and SCRATCH instructions.
#include "emulator/amd/isa/memory/lane_addresses.h"

#include "base/util/target_clones.h"

namespace doorbell::emu::amdgpu {

namespace {

DOORBELL_CLONES("avx2", "default")
void add_wide(const Wave& wave, const Operation& op, u64 active, LaneAddresses& out) {
  const u32* low = wave.v + op.src[kAddress].row;
  const u32* high = low + wave.lanes;
  const u64 more = static_cast<u64>(op.immediate);
  const u32 first_active = static_cast<u32>(std::countr_zero(active));
  out.base = (low[first_active] | u64{high[first_active]} << 32) + more - (u64{1} << 31);
  u64 outside = 0;
  for (u32 first = 0; first < wave.lanes; first += kLaneStep) {
    for (u32 i = 0; i < kLaneStep; ++i) {
      const u32 lane = first + i;
      const u64 address = (low[lane] | u64{high[lane]} << 32) + more;
      const u64 offset = address - out.base;
      out.wide[lane] = address;
      out.offset[lane] = static_cast<u32>(offset);
      outside |= offset >> 32 & (0 - (active >> lane & 1));
    }
  }
  out.compact = outside == 0;
  if (out.compact) out.find_ends(active, wave.lanes);
}

}  // namespace

void wide_addresses(const Wave& wave, const Operation& op, u64 active, LaneAddresses& out) {
  add_wide(wave, op, active, out);
}

void scratch_offsets(const Wave& wave, const Operation& op, u32* out) {
  const Source& scalar = op.src[kScalarAddress];
  u32 uniform = static_cast<u32>(op.immediate);
  if (scalar.kind == Source::Kind::Scalar) uniform += wave.s[scalar.index];
  if (op.src[kAddress].kind == Source::Kind::None) {
    std::fill_n(out, wave.lanes, uniform);
    return;
  }
  const u32* address = wave.v + op.src[kAddress].row;
  for (u32 lane = 0; lane < wave.lanes; ++lane) out[lane] = address[lane] + uniform;
}

}  // namespace doorbell::emu::amdgpu
