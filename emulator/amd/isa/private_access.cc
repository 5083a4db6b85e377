// The checks of accesses to LDS and scratch, and scratch accesses that cross dwords.
#include "emulator/amd/isa/private_access.h"

#include <fmt/format.h>

namespace doorbell::emulator::amd {

namespace {

// The first active lane whose [address, address + bytes) is not below the limit, or 64.
u32 first_beyond(u64 active, const u32* address, u32 lanes, u32 bytes, u32 limit) {
  if (bytes <= limit) {
    const u32 last = limit - bytes;
    u32 largest = 0;
    for (u32 lane = 0; lane < lanes; ++lane) {
      const u32 value = (active >> lane & 1) != 0 ? address[lane] : 0;
      largest = value > largest ? value : largest;
    }
    if (largest <= last) return 64;
  }
  for (u64 left = active; left != 0; left &= left - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(left));
    if (u64{address[lane]} + bytes > limit) return lane;
  }
  return 64;
}

}  // namespace

Flow check_lds(Wave& wave, const Operation& op, u64 active, const u32* address, u32 bytes,
               bool write) {
  const u32 lane = first_beyond(active, address, wave.lanes, bytes, wave.lds_bytes);
  if (lane == 64) [[likely]]
    return Flow::Next;
  return stop_out_of_bounds(wave, op, address[lane], lane,
                            fmt::format("{} bytes at {:#x} of LDS, the group has {:#x}", bytes,
                                        address[lane], wave.lds_bytes),
                            write);
}

Flow check_scratch(Wave& wave, const Operation& op, u64 active, const u32* offset, u32 bytes,
                   bool write) {
  const u32 lane = first_beyond(active, offset, wave.lanes, bytes, wave.scratch_bytes_per_lane);
  if (lane == 64) [[likely]]
    return Flow::Next;
  return stop_out_of_bounds(wave, op, offset[lane], lane,
                            fmt::format("{} bytes at {:#x} of scratch, a lane has {:#x}", bytes,
                                        offset[lane], wave.scratch_bytes_per_lane),
                            write);
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
  Memory& memory = memory_of(wave);
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
  Memory& memory = memory_of(wave);
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

}  // namespace doorbell::emulator::amd
