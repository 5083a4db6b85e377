// Loads and stores of a work group's LDS and the lanes' scratch, for their own instructions
// (lds_memory.cc, scratch_memory.cc) and for FLAT with addresses in their apertures. Both are
// checked against the kernel's allocation. A wave whose checks are off (Wave::unjudged) continues
// as on hardware: accesses beyond LDS read zero and store nothing; scratch is unbounded, and the
// next wave's is behind it.
#pragma once

#include "emulator/amd/isa/memory/lane_access.h"
#include "emulator/amd/isa/memory/lds_observer.h"

namespace doorbell::emu::amdgpu {

// The first active lane whose [address, address + bytes) is not below the limit; 64: none.
inline u32 first_beyond(u64 active, const u32* address, u32 lanes, u32 bytes, u32 limit) {
  if (active == (lanes == 64 ? ~u64{0} : 0xffffffffu)) {
    u32 largest = 0;
    for (u32 first = 0; first < lanes; first += kLaneStep) {
      for (u32 i = 0; i < kLaneStep; ++i) largest = std::max(largest, address[first + i]);
    }
    if (u64{largest} + bytes <= limit) [[likely]]
      return 64;
  }
  for (u64 left = active; left != 0; left &= left - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(left));
    if (u64{address[lane]} + bytes > limit) return lane;
  }
  return 64;
}

[[gnu::cold]] Flow stop_beyond_lds(Wave& wave, const Operation& op, u32 address, u32 lane,
                                   u32 bytes, bool write);
[[gnu::cold]] Flow stop_beyond_scratch(Wave& wave, const Operation& op, u32 offset, u32 lane,
                                       u32 bytes, bool write);

// The active lanes whose [address, address + bytes) is below the limit.
[[gnu::cold]] u64 lanes_within(u64 active, const u32* address, u32 bytes, u32 limit);

// Accesses that are not, or not entirely, in the group's LDS. They have no effect; on gfx12 the
// dwords inside are read, the bytes inside are stored. [RDNA3 ISA 3.3.4.1, CDNA3 ISA 3.6.1, RDNA4
// ISA 3.3.5.1]
[[gnu::cold]] void read_beyond_lds(const Wave& wave, u32 address, u32 bytes, u8* value);
[[gnu::cold]] void write_beyond_lds(Wave& wave, u32 address, u32 bytes, const u8* value);

// Stop if a lane's access is beyond the group's LDS or the lane's scratch; otherwise Next. In a
// wave without checks, lanes beyond LDS are removed from `active`. The wave's observer is told.
inline Flow check_lds(Wave& wave, const Operation& op, u64& active, const u32* address, u32 bytes,
                      LdsAccess access) {
  if (wave.lds_observer != nullptr) [[unlikely]]
    wave.lds_observer->accessed(wave, op, active, address, bytes, access);
  const u32 lane = first_beyond(active, address, wave.lanes, bytes, wave.lds_bytes);
  if (lane == 64) [[likely]]
    return Flow::Next;
  if (wave.is_judged(Exit::Limit::Lds))
    return stop_beyond_lds(wave, op, address[lane], lane, bytes, access != LdsAccess::Load);
  active = lanes_within(active, address, bytes, wave.lds_bytes);
  return Flow::Next;
}
inline Flow check_scratch(Wave& wave, const Operation& op, u64 active, const u32* offset, u32 bytes,
                          bool write) {
  const u32 lane = first_beyond(active, offset, wave.lanes, bytes, wave.scratch_bytes_per_lane);
  if (lane == 64 || !wave.is_judged(Exit::Limit::Scratch)) [[likely]]
    return Flow::Next;
  return stop_beyond_scratch(wave, op, offset[lane], lane, bytes, write);
}

template <Element e>
Flow load_lds(Wave& wave, const Operation& op, u64 active, const u32* address, u32* dst) {
  u64 within = active;
  if (check_lds(wave, op, within, address, bytes_of(e), LdsAccess::Load) == Flow::Stop)
    return Flow::Stop;
  if (within != active) [[unlikely]] {
    for_each_lane(active & ~within, [&](u32 lane) {
      u8 value[bytes_of(e)];
      read_beyond_lds(wave, address[lane], bytes_of(e), value);
      put_lane<e>(dst + lane, wave.lanes, value);
    });
  }
  gather<e>(wave, within, wave.lds, address, dst);
  return Flow::Next;
}

template <Element e>
Flow store_lds(Wave& wave, const Operation& op, u64 active, const u32* address, const u32* src,
               LdsAccess access = LdsAccess::Store) {
  u64 within = active;
  if (check_lds(wave, op, within, address, bytes_of(e), access) == Flow::Stop) return Flow::Stop;
  if (within != active) [[unlikely]] {
    for_each_lane(active & ~within, [&](u32 lane) {
      u8 value[bytes_of(e)];
      take_lane<e>(src + lane, wave.lanes, value);
      write_beyond_lds(wave, address[lane], bytes_of(e), value);
    });
  }
  scatter<e>(wave, within, wave.lds, address, src);
  return Flow::Next;
}

// Each lane's value, extended to a dword, goes to LDS behind M0 and the offset: a dword per lane,
// four where a lane's are three. [CDNA3 and CDNA4 ISA, "Memory buffer load to LDS"]
template <Element e>
Flow store_to_lds(Wave& wave, const Operation& op, const u32* values) {
  constexpr Element kStored = rows_of(e) == 1 ? Element::B32 : e;
  constexpr u32 kPitch = rows_of(e) == 1 ? 4 : 16;
  alignas(64) u32 at[64];
  const u32 base = (wave.s[kM0] & 0xffff) + static_cast<u32>(op.immediate);
  for (u32 lane = 0; lane < wave.lanes; ++lane) at[lane] = base + lane * kPitch;
  return store_lds<kStored>(wave, op, wave.exec(), at, values, LdsAccess::Copy);
}

// The addresses of the dword (or a part of it) at `offset` in each lane's scratch, plus `more`
// bytes.
void scratch_addresses(const Wave& wave, u64 active, const u32* offset, u32 more,
                       LaneAddresses& out);
// Whether no lane's access crosses a dword's end where that is not allowed.
bool is_scratch_aligned(u64 active, const u32* offset, u32 bytes);
// Byte by byte, for accesses that cross one.
Flow load_scratch_bytes(Wave& wave, const Operation& op, u64 active, const u32* offset, u32 bytes,
                        u8 (*values)[16]);
Flow store_scratch_bytes(Wave& wave, const Operation& op, u64 active, const u32* offset, u32 bytes,
                         const u8 (*values)[16]);

template <Element e>
Flow load_scratch(Wave& wave, const Operation& op, u64 active, const u32* offset, u32* dst) {
  if (check_scratch(wave, op, active, offset, bytes_of(e), false) == Flow::Stop) return Flow::Stop;
  if (!is_scratch_aligned(active, offset, bytes_of(e))) [[unlikely]] {
    u8 values[64][16];
    if (load_scratch_bytes(wave, op, active, offset, bytes_of(e), values) == Flow::Stop) {
      return Flow::Stop;
    }
    for_each_lane(active, [&](u32 lane) { put_lane<e>(dst + lane, wave.lanes, values[lane]); });
    return Flow::Next;
  }
  constexpr Element kPart = rows_of(e) > 1 ? Element::B32 : e;
  for (u32 row = 0; row < rows_of(e); ++row) {
    LaneAddresses addresses;
    scratch_addresses(wave, active, offset, row * 4, addresses);
    if (load_lanes<kPart>(wave, op, active, addresses, dst + row * wave.lanes) == Flow::Stop) {
      return Flow::Stop;
    }
  }
  return Flow::Next;
}

template <Element e>
Flow store_scratch(Wave& wave, const Operation& op, u64 active, const u32* offset, const u32* src) {
  if (check_scratch(wave, op, active, offset, bytes_of(e), true) == Flow::Stop) return Flow::Stop;
  if (!is_scratch_aligned(active, offset, bytes_of(e))) [[unlikely]] {
    u8 values[64][16];
    for_each_lane(active, [&](u32 lane) { take_lane<e>(src + lane, wave.lanes, values[lane]); });
    return store_scratch_bytes(wave, op, active, offset, bytes_of(e), values);
  }
  constexpr Element kPart = rows_of(e) > 1 ? Element::B32 : e;
  for (u32 row = 0; row < rows_of(e); ++row) {
    LaneAddresses addresses;
    scratch_addresses(wave, active, offset, row * 4, addresses);
    if (store_lanes<kPart>(wave, op, active, addresses, src + row * wave.lanes) == Flow::Stop) {
      return Flow::Stop;
    }
  }
  return Flow::Next;
}

}  // namespace doorbell::emu::amdgpu
