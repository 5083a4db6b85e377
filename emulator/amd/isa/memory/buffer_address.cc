// Sources about accesses beyond a buffer; where they differ, the first one counts:
// 1. silicon: ROCm/rocm-systems emulation/rocjitsu, isa/arch/amdgpu/shared/addr_calc_buffer.h,
// which pull request 10928 adapted to gfx950, and whose tests were "matched on physical gfx1100 and
// gfx1201";
// 2. the ISA documents: CDNA3 and CDNA4 9.1.5, RDNA2 8.1.5, RDNA3 9.4 and table 46, RDNA4 9.4 and
//    table 56;
// 3. drivers: Mesa src/amd/common/ac_descriptors.c (ac_set_buf_desc_word3), ROCm/rocMLIR pull
//    request 678.
// If they differ about which bytes are accessed, in forms that no known compiler emits, the wave
// stops: see find_dispute().
#include "emulator/amd/isa/memory/buffer_address.h"

#include "emulator/amd/isa/decode/decode_memory.h"
#include "emulator/amd/isa/memory/lane_access.h"
#include "emulator/amd/isa/scalar/scalar_op.h"

namespace doorbell::emu::amdgpu {

BufferResource read_resource(const Chip& chip, const u32* words) {
  BufferResource r;
  r.base = words[0] | u64{words[1] & 0xffff} << 32;
  r.stride = field(words[1], 29, 16);
  r.records = words[2];
  r.index_shift = 3 + field(words[3], 22, 21);
  r.add_thread_id = field(words[3], 23, 23) != 0;
  r.out_of_bounds = field(words[3], 29, 28);
  if (chip.generation >= Generation::Gfx11) {
    r.swizzle = field(words[1], 31, 30);
    r.element_shift = r.swizzle == 3 ? 4 : 2;
  } else {
    r.swizzle = field(words[1], 31, 31);  // by dwords: ELEMENT_SIZE was gfx8's
  }
  if (chip.generation == Generation::Gfx9) r.stride_high = field(words[3], 18, 15);
  return r;
}

BufferAddresses::BufferAddresses(const Wave& wave, const Operation& op, BufferUse use)
    : wave_(wave),
      use_(use),
      indexed_((op.flags & kMemoryIndex) != 0),
      scalar_offset_(read_32(wave, op.src[kScalarOffset])),
      resource_(read_resource(*wave.chip, &wave.s[op.src[kScalarAddress].index])) {
  const u32* vector = wave.v + op.src[kAddress].row;
  const bool offset = (op.flags & kMemoryOffset) != 0;
  const u32* vector_offset = indexed_ ? vector + wave.lanes : vector;
  for (u32 lane = 0; lane < wave.lanes; ++lane) {
    index_[lane] = (indexed_ ? vector[lane] : 0) + (resource_.add_thread_id ? lane : 0);
    offset_[lane] = (offset ? vector_offset[lane] : 0) + static_cast<u32>(op.immediate);
  }
  // "Normally 14 bits, but extended to 18 bits when" [CDNA3 ISA, table 45]
  if (resource_.add_thread_id && use != BufferUse::Format) {
    resource_.stride |= resource_.stride_high << 14;
  }
  set_limits();
  disputed_ = find_dispute();
}

std::string_view BufferAddresses::find_dispute() const {
  const BufferResource& r = resource_;
  const Generation generation = wave_.chip->generation;
  // The documents add the lane to the index; silicon takes the one or the other.
  if (r.add_thread_id && indexed_) return "with an index where the descriptor adds the lane's";
  if (!swizzled()) return {};
  if (generation >= Generation::Gfx11 && r.swizzle == 2) return "with SWIZZLE_ENABLE 2";
  // The documents swizzle at index 0; silicon, and gfx9's with any index, does not swizzle.
  if (!r.add_thread_id && (!indexed_ || generation == Generation::Gfx9)) {
    return "of a swizzled buffer without ADD_TID";
  }
  // The RDNA4 document swizzles the scalar offset with the others, silicon adds it afterwards.
  if (generation == Generation::Gfx12 && scalar_offset_ != 0) {
    return "of a swizzled buffer with a scalar offset";
  }
  if (generation == Generation::Gfx10 && r.out_of_bounds == 3 && ends_differ()) {
    return "of a swizzled buffer with OOB_SELECT 3, where its end is in dispute";
  }
  return {};
}

// Mesa compares the swizzled address with NUM_RECORDS, the RDNA2 document index and offset. A
// scratch buffer holds both.
bool BufferAddresses::ends_differ() const {
  bool differ = false;
  for_each_lane(wave_.exec(), [&](u32 lane) {
    const bool by_document = index_[lane] < index_limit_ && offset_[lane] < offset_limit_;
    differ |= by_document != (place(lane, 0) < resource_.records);
  });
  return differ;
}

void BufferAddresses::set_limits() {
  const BufferResource& r = resource_;
  // Where bytes count, so does the scalar offset: on gfx950, and by RDNA's tables with
  // OOB_SELECT 3. The CDNA documents' formula and LLVM's IntrinsicsAMDGPU.td leave it out.
  const u64 left = r.records - std::min(r.records, scalar_offset_);
  if (wave_.chip->generation == Generation::Gfx9) {
    if (r.add_thread_id) return;  // scratch
    if (indexed_ && r.stride != 0) {
      index_limit_ = r.records;
    } else {
      offset_limit_ = left;
    }
    return;
  }
  const bool gfx10 = wave_.chip->generation == Generation::Gfx10;
  switch (r.out_of_bounds) {
    case 0:
      index_limit_ = r.records;
      offset_limit_ = r.stride;
      only_starts_ = gfx10;  // "offset >= stride", later documents "offset+payload > stride"
      return;
    case 1: index_limit_ = r.records; return;
    case 2: index_limit_ = r.records != 0 ? kNoLimit : 0; return;
    default: break;
  }
  if (!swizzled() || r.stride == 0) {
    offset_limit_ = left;
    return;
  }
  index_limit_ = left;
  offset_limit_ = r.stride;
}

u64 BufferAddresses::within(u64 active, u32 from, u32 bytes) const {
  if (index_limit_ == kNoLimit && offset_limit_ == kNoLimit) return active;
  const u64 extent = u64{from} + (only_starts_ ? 1 : bytes);
  u64 result = 0;
  for (u32 lane = 0; lane < wave_.lanes; ++lane) {
    const bool in = index_[lane] < index_limit_ && offset_[lane] + extent <= offset_limit_;
    result |= u64{in} << lane;
  }
  return result & active;
}

u64 BufferAddresses::place(u32 lane, u32 more) const {
  const BufferResource& r = resource_;
  const u64 index = index_[lane], offset = u64{offset_[lane]} + more;
  if (!swizzled()) return index * r.stride + offset;
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

}  // namespace doorbell::emu::amdgpu
