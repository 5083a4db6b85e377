// Addresses of buffer instructions: a resource descriptor in four scalar registers, an index and an
// offset, and which of the lanes' bytes lie within the buffer. Scratch of gfx9 and gfx10 is such a
// buffer, swizzled.
#pragma once

#include <string_view>

#include "emulator/amd/isa/memory/lane_addresses.h"
#include "emulator/amd/isa/operation.h"
#include "emulator/amd/isa/wave.h"

namespace doorbell::emu::amdgpu {

// The kind of access. Dwords of loads and stores are checked one by one, typed elements and atomic
// operations as a whole.
enum class BufferUse : u8 { Dwords, Format, Atomic };

// The descriptor's fields that determine an element's address.
struct BufferResource {
  u64 base = 0;
  u32 stride = 0, records = 0;
  u32 stride_high = 0;  // STRIDE[17:14] of gfx9's scratch, where others have the data format
  u32 swizzle = 0;      // SWIZZLE_ENABLE
  bool add_thread_id = false;
  u32 element_shift = 2, index_shift = 3;  // of a swizzled buffer: log2 of bytes, of indices
  u32 out_of_bounds = 0;  // OOB_SELECT, gfx10 on: 0 index or offset, 1 index, 2 empty, 3 raw
};
BufferResource read_resource(const Chip& chip, const u32* words);

// Per lane, once per instruction.
class BufferAddresses {
 public:
  BufferAddresses(const Wave& wave, const Operation& op, BufferUse use);

  // Why the address is disputed; empty if it is not.
  std::string_view disputed() const { return disputed_; }
  bool swizzled() const { return resource_.swizzle != 0; }
  bool as_a_whole() const { return use_ != BufferUse::Dwords; }
  // The active lanes whose `bytes` bytes, `from` bytes behind their offset, are within the buffer:
  // others load zero and do not store.
  u64 within(u64 active, u32 from, u32 bytes) const;
  // Addresses of the lanes' bytes at their offset plus `more`.
  void fill(u64 active, u32 more, LaneAddresses& out) const;

 private:
  static constexpr u64 kNoLimit = ~u64{0};

  void set_limits();
  std::string_view find_dispute() const;
  bool ends_differ() const;
  u64 place(u32 lane, u32 more) const;

  const Wave& wave_;
  BufferUse use_;
  bool indexed_;  // by a register
  u32 scalar_offset_;
  BufferResource resource_;
  u64 index_limit_ = kNoLimit;  // the first index, the first offset beyond the buffer
  u64 offset_limit_ = kNoLimit;
  bool only_starts_ = false;  // an element is within when its first byte is
  std::string_view disputed_;
  alignas(64) u32 index_[64];
  alignas(64) u32 offset_[64];
};

}  // namespace doorbell::emu::amdgpu
