// Addresses of buffer instructions: a resource descriptor in four scalar registers, an index and an
// offset. What scratch is reached by on gfx9 and gfx10, as a swizzled buffer.
#pragma once

#include "emulator/amd/isa/lane_addresses.h"
#include "emulator/amd/isa/operation.h"
#include "emulator/amd/isa/wave.h"

namespace doorbell::emulator::amd {

// The descriptor's fields that untyped accesses look at.
struct BufferResource {
  u64 base = 0;
  u32 stride = 0, records = 0;
  bool swizzle = false, add_thread_id = false;
  u32 element_shift = 2, index_shift = 3;  // of a swizzled buffer: log2 of bytes, of indices
  u32 out_of_bounds = 0;  // OOB_SELECT, gfx10 on: 0 index or offset, 1 index, 2 empty, 3 raw
};
BufferResource read_resource(const Chip& chip, const u32* words);

// Per lane, once per instruction.
class BufferAddresses {
 public:
  BufferAddresses(const Wave& wave, const Operation& op);

  bool swizzled() const { return resource_.swizzle; }
  // The active lanes whose access of `bytes` is within the buffer: others load zero and do not
  // store.
  u64 within(u64 active, u32 bytes) const;
  // Addresses of the lanes' bytes at their offset plus `more`.
  void fill(u64 active, u32 more, LaneAddresses& out) const;

 private:
  bool is_within(u32 lane, u32 bytes) const;
  u64 place(u32 lane, u32 more) const;

  const Wave& wave_;
  BufferResource resource_;
  u32 scalar_offset_;
  alignas(64) u32 index_[64];
  alignas(64) u32 offset_[64];
};

}  // namespace doorbell::emulator::amd
