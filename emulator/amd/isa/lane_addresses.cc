// The addresses of FLAT, GLOBAL and SCRATCH instructions.
#include "emulator/amd/isa/lane_addresses.h"

#include <algorithm>
#include <bit>

#include "emulator/amd/isa/decode_memory.h"

namespace doorbell::emulator::amd {

void LaneAddresses::find_ends(u64 active, u32 lanes) {
  u32 smallest = ~0u, largest = 0;
  if (active == (lanes == 64 ? ~u64{0} : 0xffffffffu)) {
    for (u32 lane = 0; lane < lanes; ++lane) {
      smallest = std::min(smallest, offset[lane]);
      largest = std::max(largest, offset[lane]);
    }
  } else {
    for (u64 left = active; left != 0; left &= left - 1) {
      const u32 lane = static_cast<u32>(std::countr_zero(left));
      smallest = std::min(smallest, offset[lane]);
      largest = std::max(largest, offset[lane]);
    }
  }
  low = smallest;
  high = largest;
}

void global_addresses(const Wave& wave, const Operation& op, u64 active, LaneAddresses& out) {
  const u32* address = wave.v + op.src[kAddress].row;
  const u32 lanes = wave.lanes;
  const Source& scalar = op.src[kScalarAddress];
  if (scalar.kind == Source::Kind::Scalar) {
    // A 32-bit offset without sign.
    out.base = wave.pair(scalar.index) + static_cast<u64>(op.immediate);
    out.compact = true;
    std::memcpy(out.offset, address, lanes * sizeof(u32));
    out.find_ends(active, lanes);
    return;
  }
  const u32* address_high = address + lanes;
  for (u32 lane = 0; lane < lanes; ++lane) {
    out.wide[lane] =
        (address[lane] | u64{address_high[lane]} << 32) + static_cast<u64>(op.immediate);
  }
  // Two GiB on either side of the first lane's address.
  out.base = out.wide[std::countr_zero(active)] - (u64{1} << 31);
  u64 outside = 0;
  for (u32 lane = 0; lane < lanes; ++lane) {
    const u64 offset = out.wide[lane] - out.base;
    out.offset[lane] = static_cast<u32>(offset);
    outside |= (active >> lane & 1) != 0 ? offset >> 32 : 0;
  }
  out.compact = outside == 0;
  if (out.compact) out.find_ends(active, lanes);
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

}  // namespace doorbell::emulator::amd
