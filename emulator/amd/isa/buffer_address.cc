// [RDNA2 ISA, "Buffer resource descriptor", "Buffer addressing", "Range checking"; "Vega" ISA and
// CDNA3 ISA, the same sections; RDNA3 ISA for SWIZZLE_ENABLE's two bits]
#include "emulator/amd/isa/buffer_address.h"

#include "emulator/amd/isa/decode_memory.h"
#include "emulator/amd/isa/lane_access.h"
#include "emulator/amd/isa/scalar_op.h"

namespace doorbell::emulator::amd {

BufferResource read_resource(const Chip& chip, const u32* words) {
  BufferResource r;
  r.base = words[0] | u64{words[1] & 0xffff} << 32;
  r.stride = field(words[1], 29, 16);
  r.records = words[2];
  r.index_shift = 3 + field(words[3], 22, 21);
  r.add_thread_id = field(words[3], 23, 23) != 0;
  r.out_of_bounds = field(words[3], 29, 28);
  if (chip.generation >= Generation::Gfx11) {
    const u32 mode = field(words[1], 31, 30);
    r.swizzle = mode != 0;
    r.element_shift = 1 + mode;
  } else {
    r.swizzle = field(words[1], 31, 31) != 0;
    r.element_shift = chip.generation == Generation::Gfx9 ? 1 + field(words[3], 20, 19) : 2;
  }
  return r;
}

BufferAddresses::BufferAddresses(const Wave& wave, const Operation& op)
    : wave_(wave),
      resource_(read_resource(*wave.chip, &wave.s[op.src[kScalarAddress].index])),
      scalar_offset_(read_32(wave, op.src[kScalarOffset])) {
  const u32* vector = wave.v + op.src[kAddress].row;
  const bool indexed = (op.flags & kMemoryIndex) != 0, offset = (op.flags & kMemoryOffset) != 0;
  const u32* vector_offset = indexed ? vector + wave.lanes : vector;
  for (u32 lane = 0; lane < wave.lanes; ++lane) {
    index_[lane] = (indexed ? vector[lane] : 0) + (resource_.add_thread_id ? lane : 0);
    offset_[lane] = (offset ? vector_offset[lane] : 0) + static_cast<u32>(op.immediate);
  }
}

bool BufferAddresses::is_within(u32 lane, u32 bytes) const {
  const BufferResource& r = resource_;
  const u64 index = index_[lane], offset = offset_[lane];
  if (wave_.chip->generation == Generation::Gfx9) {
    if (r.stride != 0 && r.swizzle) return index < r.records;
    return index * r.stride + offset + scalar_offset_ + bytes <= r.records;
  }
  switch (r.out_of_bounds) {
    case 0: return index < r.records && offset + bytes <= r.stride;
    case 1: return index < r.records;
    case 2: return r.records != 0;
    default: return index * r.stride + offset + bytes <= r.records;
  }
}

u64 BufferAddresses::within(u64 active, u32 bytes) const {
  // What compilers make for scratch has no end.
  const bool gfx9 = wave_.chip->generation == Generation::Gfx9;
  if (resource_.records == ~0u && (gfx9 || resource_.out_of_bounds != 0)) return active;
  u64 result = 0;
  for_each_lane(active, [&](u32 lane) { result |= u64{is_within(lane, bytes)} << lane; });
  return result;
}

u64 BufferAddresses::place(u32 lane, u32 more) const {
  const BufferResource& r = resource_;
  const u64 index = index_[lane], offset = u64{offset_[lane]} + more;
  if (!r.swizzle) return index * r.stride + offset;
  const u64 in_element = (u64{1} << r.element_shift) - 1, in_row = (u64{1} << r.index_shift) - 1;
  const u64 rows = (index >> r.index_shift) * r.stride + (offset & ~in_element);
  return (rows << r.index_shift) + ((index & in_row) << r.element_shift) + (offset & in_element);
}

void BufferAddresses::fill(u64 active, u32 more, LaneAddresses& out) const {
  out.base = resource_.base + scalar_offset_;
  u64 largest = 0;
  for (u32 lane = 0; lane < wave_.lanes; ++lane) {
    const u64 at = place(lane, more);
    out.offset[lane] = static_cast<u32>(at);
    out.wide[lane] = out.base + at;
    largest |= (active >> lane & 1) != 0 ? at : 0;
  }
  out.compact = largest >> 32 == 0;
  if (out.compact) out.find_ends(active, wave_.lanes);
}

}  // namespace doorbell::emulator::amd
