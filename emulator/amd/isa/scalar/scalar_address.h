// Addresses of scalar memory instructions, and how a wave stops at one. For loads see
// scalar_memory.cc, for gfx9's stores and atomics scalar_atomics.cc.
#pragma once

#include <algorithm>

#include "emulator/amd/isa/memory/memory.h"
#include "emulator/amd/isa/scalar/scalar_op.h"

namespace doorbell::emu::amdgpu {

// The cache bits of the word, as CachePolicy of isa/memory/memory.h has them.
inline CachePolicy scalar_policy(const Wave& wave, const Operation& op) {
  const u32 word = op.words[0];
  switch (wave.chip->generation) {
    case Generation::Gfx9: return static_cast<CachePolicy>(word >> 16 & 1);
    case Generation::Gfx10:
      return static_cast<CachePolicy>((word >> 16 & 1) | (word >> 14 & 1) << 2);
    case Generation::Gfx11:
      return static_cast<CachePolicy>((word >> 14 & 1) | (word >> 13 & 1) << 2);
    default: return static_cast<CachePolicy>((word >> 23 & 3) | (word >> 21 & 3) << 3);
  }
}

inline Flow scalar_fault(Wave& wave, const Operation& op, u64 address) {
  wave.exit = {.kind = Exit::Kind::Fault, .pc = op.pc, .address = address};
  wave.exit.name = op.name;
  wave.pc = op.pc;
  return Flow::Stop;
}

inline u64 scalar_address(const Wave& wave, const Operation& op) {
  return wave.pair(op.src[0].index) + static_cast<u64>(op.immediate) + read_32(wave, op.src[1]);
}

// S_SCRATCH_*: the register's offset, not the immediate one, counts blocks of 64 bytes. Only the
// program knows the base: scratch is in memory, and an offset into it is not an address.
// [RDNA2 and CDNA3 ISA documents, "Scalar memory addressing"]
inline u64 scalar_scratch_address(const Wave& wave, const Operation& op) {
  return wave.pair(op.src[0].index) + static_cast<u64>(op.immediate) +
         u64{read_32(wave, op.src[1])} * 64;
}

// Through a buffer descriptor: base in bits 47 to 0, stride in 61 to 48, number of records in the
// third word, in bytes when the stride is 0. [RDNA3 and RDNA4 ISA documents, 8.1.2 and 9.4.1.4; the
// CDNA3 and RDNA2 documents omit the stride in the product, which must be wrong: a buffer with a
// stride of 0 would have a size of 1]
struct ScalarBufferAccess {
  u64 address = 0;
  u32 within = 0;  // bytes of it that are inside: each dword is checked by itself
};
inline ScalarBufferAccess scalar_buffer_access(const Wave& wave, const Operation& op, u32 bytes) {
  const u32* words = &wave.s[op.src[0].index];
  const u64 unit = std::min(bytes, 4u);
  const auto align = [&](u64 value) { return value & ~(unit - 1); };
  const u64 base = align(words[0] | u64{words[1] & 0xffff} << 32);
  const u64 stride = words[1] >> 16 & 0x3fff;
  u64 size = (stride == 0 ? 1 : stride) * words[2];
  const u64 constant = static_cast<u64>(op.immediate), other = read_32(wave, op.src[1]);
  u64 offset = align(constant + other);
  if (wave.chip->generation == Generation::Gfx12) {
    size = align(size);
    offset = align(constant) + align(other);
  }
  // A dword is within when its first byte is.
  const u64 left = offset < size ? size - offset : 0;
  return {base + offset, static_cast<u32>(std::min<u64>(bytes, (left + unit - 1) & ~(unit - 1)))};
}

}  // namespace doorbell::emu::amdgpu
