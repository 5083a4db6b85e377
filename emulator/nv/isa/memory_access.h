// Addresses and sizes of memory instructions, shared by loads, stores and atomic operations.
#pragma once

#include "emulator/nv/compute/block.h"
#include "emulator/nv/isa/lanes.h"

namespace doorbell::emu::nvgpu {

enum class Space : u8 { Global, Shared, Local, Generic };

// Bits 73 to 75 of loads and stores: u8, i8, u16, i16, then 4, 8 and 16 bytes.
struct AccessSize {
  u32 bytes = 4;
  bool is_signed = false;
};
inline AccessSize access_size(const Operation& op) {
  constexpr AccessSize kSizes[] = {{1, false}, {1, true},  {2, false},  {2, true},
                                   {4, false}, {8, false}, {16, false}, {4, false}};
  return kSizes[op.field(73, 3)];
}

// The address of a lane: register, scale, uniform register and offset. `uniform_at`: the bits that
// name the uniform register of shared accesses (bit 91 says that there is one); for global ones it
// is a descriptor, which is not looked at.
inline u64 address_of(const Warp& warp, const Operation& op, Space space, u32 lane,
                      unsigned uniform_at) {
  const i64 offset = op.words.signed_at(40, 24);
  u64 address = row_of(warp, op.a)[lane];
  if (space == Space::Global || space == Space::Generic) {
    if (op.bit(72)) address |= u64{row_of(warp, op.a, 1)[lane]} << 32;
    return address + static_cast<u64>(offset);
  }
  u32 word = static_cast<u32>(address);
  if (space == Space::Shared) {
    const u32 scale = op.field(78, 2);
    if (scale != 0) word <<= scale + 1;
    if (op.bit(91)) word += warp.rows[kUniformStart + op.field(uniform_at, 6)][lane];
  }
  return word + static_cast<u32>(offset);
}

// Where the bytes are; null after stop().
inline u8* locate(Warp& warp, Space space, u32 lane, u64 address, u32 bytes, bool write,
                  bool atomic = false) {
  Block& block = *warp.block;
  if (space == Space::Generic) {
    const u64 shared = block.grid().shared_window, local = block.grid().local_window;
    if (address - shared < kWindowBytes) {
      space = Space::Shared, address -= shared;
    } else if (address - local < kWindowBytes) {
      space = Space::Local, address -= local;
    } else {
      space = Space::Global;
    }
  }
  if (space == Space::Global) return block.global(warp, lane, address, bytes, write, atomic);
  if (space == Space::Local) return block.local(warp, lane, address, bytes);
  return block.shared(warp, lane, address & 0xffff'ffff, bytes, write, atomic);
}

}  // namespace doorbell::emu::nvgpu
