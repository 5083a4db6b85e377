// Loads and stores of all active lanes at once: directly in the host's bytes if the memory allows
// it, otherwise lane by lane.
#pragma once

#include <bit>

#include "emulator/amd/isa/memory/element.h"
#include "emulator/amd/isa/memory/lane_addresses.h"
#include "emulator/amd/isa/memory/memory.h"
#include "emulator/amd/isa/wave.h"

namespace doorbell::emu::amdgpu {

// Stops the wave at an access that faulted.
[[gnu::cold]] Flow stop_at_fault(Wave& wave, const Operation& op, const AccessFault& fault,
                                 u32 lane);
// Stops the wave at an instruction whose behaviour here is not documented; `what` is the
// circumstance.
[[gnu::cold]] Flow stop_undocumented(Wave& wave, const Operation& op, std::string_view what);
inline bool rounds_to_nearest(const Wave& wave) {
  return wave.float_plain || (wave.mode.round_32 | wave.mode.round_64) == 0;
}
// Stops the wave at an access beyond the kernel's allocation; `what` has both.
[[gnu::cold]] Flow stop_out_of_bounds(Wave& wave, const Operation& op, Exit::Limit limit,
                                      u64 address, u32 lane, std::string what, bool write);
[[gnu::cold]] Flow stop_unaligned_atomic(Wave& wave, const Operation& op, u64 address, u32 lane,
                                         u32 bytes);

// The same handler for CPUs with AVX2, in one piece: its loops over lanes become vectors.
template <Handler kHandler>
[[gnu::target("avx2,bmi,bmi2,lzcnt,popcnt"), gnu::flatten, gnu::noinline]] Flow fast_memory(
    Wave& wave, const Operation& op) {
  return kHandler(wave, op);
}

template <class Function>
void for_each_lane(u64 active, Function&& function) {
  for (u64 left = active; left != 0; left &= left - 1) {
    function(static_cast<u32>(std::countr_zero(left)));
  }
}

// The values before of the active lanes' atomic operation, to its destination when it asks for
// them.
void return_before(Wave& wave, const Operation& op, u32 bytes, const u64* before);

// Whether lane i's offset is the first's plus i times `bytes`.
inline bool is_contiguous(const u32* offset, u32 lanes, u32 bytes) {
  const u32 start = offset[0];
  if (offset[1] != start + bytes) return false;  // most others fail at the first lane
  u32 different = 0;
  for (u32 first = 0; first < lanes; first += kLaneStep) {
    for (u32 i = 0; i < kLaneStep; ++i) {
      different |= offset[first + i] - start - (first + i) * bytes;
    }
  }
  return different == 0;
}

// `host` is the byte at offset 0; the active lanes' offsets are good.
template <Element e>
void gather(const Wave& wave, u64 active, const u8* host, const u32* offset, u32* dst) {
  const u32 lanes = wave.lanes;
  if (active == wave.all_lanes()) {
    if constexpr (e == Element::B32) {
      if (is_contiguous(offset, lanes, 4)) {
        copy_row(dst, host + offset[0], lanes);
        return;
      }
    }
    if (lanes == 32) {
      for (u32 lane = 0; lane < 32; ++lane) put_lane<e>(dst + lane, 32, host + offset[lane]);
      return;
    }
    for (u32 lane = 0; lane < 64; ++lane) put_lane<e>(dst + lane, 64, host + offset[lane]);
    return;
  }
  for_each_lane(active, [&](u32 lane) { put_lane<e>(dst + lane, lanes, host + offset[lane]); });
}

// In the order of lanes: of two that store to one address the higher wins.
template <Element e>
void scatter(const Wave& wave, u64 active, u8* host, const u32* offset, const u32* src) {
  const u32 lanes = wave.lanes;
  if (active == wave.all_lanes()) {
    if constexpr (e == Element::B32) {
      if (is_contiguous(offset, lanes, 4)) {
        copy_row(host + offset[0], src, lanes);
        return;
      }
    }
    for (u32 lane = 0; lane < lanes; ++lane) {
      take_lane<e>(src + lane, lanes, host + offset[lane]);
    }
    return;
  }
  for_each_lane(active, [&](u32 lane) { take_lane<e>(src + lane, lanes, host + offset[lane]); });
}

// The host's byte at offset 0 of addresses whose lanes all lie in one mapping; null otherwise.
inline u8* host_bytes(DirectMemory& direct, const LaneAddresses& addresses, u32 bytes, bool write) {
  if (!addresses.compact) return nullptr;
  u8* host =
      direct.at(addresses.base + addresses.low, u64{addresses.high} - addresses.low + bytes, write);
  return host == nullptr ? nullptr : host - addresses.low;
}

template <Element e>
Flow load_lanes(Wave& wave, const Operation& op, u64 active, const LaneAddresses& addresses,
                u32* dst) {
  Memory& memory = *wave.memory;
  if (DirectMemory* direct = memory.direct()) {
    if (const u8* host = host_bytes(*direct, addresses, bytes_of(e), false)) [[likely]] {
      gather<e>(wave, active, host, addresses.offset, dst);
      return Flow::Next;
    }
  }
  // Nothing is written before all lanes are known to be good.
  u8 values[64][bytes_of(e)];
  for (u64 left = active; left != 0; left &= left - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(left));
    if (!memory.load(addresses.at(lane), bytes_of(e), values[lane],
                     static_cast<CachePolicy>(op.control))) {
      return stop_at_fault(wave, op, memory.fault(), lane);
    }
  }
  for_each_lane(active, [&](u32 lane) { put_lane<e>(dst + lane, wave.lanes, values[lane]); });
  return Flow::Next;
}

template <Element e>
Flow store_lanes(Wave& wave, const Operation& op, u64 active, const LaneAddresses& addresses,
                 const u32* src) {
  Memory& memory = *wave.memory;
  if (DirectMemory* direct = memory.direct()) {
    if (u8* host = host_bytes(*direct, addresses, bytes_of(e), true)) [[likely]] {
      scatter<e>(wave, active, host, addresses.offset, src);
      return Flow::Next;
    }
  }
  for (u64 left = active; left != 0; left &= left - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(left));
    u8 value[bytes_of(e)];
    take_lane<e>(src + lane, wave.lanes, value);
    if (!memory.store(addresses.at(lane), bytes_of(e), value,
                      static_cast<CachePolicy>(op.control))) {
      return stop_at_fault(wave, op, memory.fault(), lane);
    }
  }
  return Flow::Next;
}

}  // namespace doorbell::emu::amdgpu
