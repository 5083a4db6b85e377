// The checks of accesses to LDS and scratch, and scratch accesses that cross dwords.
#include "emulator/amd/isa/memory/private_access.h"

#include <fmt/format.h>

namespace doorbell::emu::amdgpu {

Flow stop_beyond_lds(Wave& wave, const Operation& op, u32 address, u32 lane, u32 bytes,
                     bool write) {
  return stop_out_of_bounds(
      wave, op, Exit::Limit::Lds, address, lane,
      fmt::format("{} bytes at {:#x} of LDS, the group has {:#x}", bytes, address, wave.lds_bytes),
      write);
}

Flow stop_beyond_scratch(Wave& wave, const Operation& op, u32 offset, u32 lane, u32 bytes,
                         bool write) {
  return stop_out_of_bounds(wave, op, Exit::Limit::Scratch, offset, lane,
                            fmt::format("{} bytes at {:#x} of scratch, a lane has {:#x}", bytes,
                                        offset, wave.scratch_bytes_per_lane),
                            write);
}

u64 lanes_within(u64 active, const u32* address, u32 bytes, u32 limit) {
  u64 within = 0;
  for_each_lane(active,
                [&](u32 lane) { within |= u64{u64{address[lane]} + bytes <= limit} << lane; });
  return within;
}

void read_beyond_lds(const Wave& wave, u32 address, u32 bytes, u8* value) {
  std::memset(value, 0, bytes);
  if (wave.chip->generation < Generation::Gfx12) return;
  for (u32 at = 0; at < bytes; at += 4) {
    const u32 part = std::min(bytes - at, 4u);
    if (u64{address} + at + part <= wave.lds_bytes)
      std::memcpy(value + at, wave.lds + address + at, part);
  }
}

void write_beyond_lds(Wave& wave, u32 address, u32 bytes, const u8* value) {
  if (wave.chip->generation < Generation::Gfx12 || address >= wave.lds_bytes) return;
  std::memcpy(wave.lds + address, value, std::min(bytes, wave.lds_bytes - address));
}

void scratch_addresses(const Wave& wave, u64 active, const u32* offset, u32 more,
                       LaneAddresses& out) {
  out.base = wave.flat_scratch;
  out.compact = true;
  const u32 lanes = wave.lanes;
  for (u32 lane = 0; lane < lanes; ++lane) {
    out.offset[lane] = static_cast<u32>(swizzle_scratch(offset[lane] + more, lane, lanes));
  }
  out.find_ends(active, lanes);
}

bool is_scratch_aligned(u64 active, const u32* offset, u32 bytes) {
  bool aligned = true;
  for_each_lane(active, [&](u32 lane) {
    const u32 in_dword = offset[lane] % 4;
    aligned &= bytes >= 4 ? in_dword == 0 : in_dword + bytes <= 4;
  });
  return aligned;
}

Flow load_scratch_bytes(Wave& wave, const Operation& op, u64 active, const u32* offset, u32 bytes,
                        u8 (*values)[16]) {
  Memory& memory = *wave.memory;
  for (u64 left = active; left != 0; left &= left - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(left));
    for (u32 i = 0; i < bytes; ++i) {
      const u64 va = wave.flat_scratch + swizzle_scratch(offset[lane] + i, lane, wave.lanes);
      if (!memory.load(va, 1, &values[lane][i], static_cast<CachePolicy>(op.control))) {
        return stop_at_fault(wave, op, memory.fault(), lane);
      }
    }
  }
  return Flow::Next;
}

Flow store_scratch_bytes(Wave& wave, const Operation& op, u64 active, const u32* offset, u32 bytes,
                         const u8 (*values)[16]) {
  Memory& memory = *wave.memory;
  for (u64 left = active; left != 0; left &= left - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(left));
    for (u32 i = 0; i < bytes; ++i) {
      const u64 va = wave.flat_scratch + swizzle_scratch(offset[lane] + i, lane, wave.lanes);
      if (!memory.store(va, 1, &values[lane][i], static_cast<CachePolicy>(op.control))) {
        return stop_at_fault(wave, op, memory.fault(), lane);
      }
    }
  }
  return Flow::Next;
}

}  // namespace doorbell::emu::amdgpu
