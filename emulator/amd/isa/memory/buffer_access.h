// One element per lane between a buffer and rows of lanes, which may be registers or not. The
// instruction determines the meaning of an element's bits: buffer_memory.cc copies them,
// typed_buffers.cc converts them by a format.
#pragma once

#include <array>
#include <optional>

#include "emulator/amd/isa/decode/decode_memory.h"
#include "emulator/amd/isa/memory/buffer_address.h"
#include "emulator/amd/isa/memory/lane_access.h"

namespace doorbell::emu::amdgpu {

// Calls access(buffer), unless no lane is active or the address is disputed.
template <class Access>
Flow with_buffer(Wave& wave, const Operation& op, BufferUse use, Access&& access) {
  if (wave.exec() == 0) return Flow::Next;
  const BufferAddresses buffer(wave, op, use);
  if (!buffer.disputed().empty()) return stop_undocumented(wave, op, buffer.disputed());
  return access(buffer);
}

// The active lanes whose element is within the buffer, for each of its dwords.
template <Element e>
std::array<u64, rows_of(e)> lanes_within(const BufferAddresses& buffer, u64 active) {
  std::array<u64, rows_of(e)> lanes;
  if (rows_of(e) == 1 || buffer.as_a_whole()) {
    lanes.fill(buffer.within(active, 0, bytes_of(e)));
  } else {
    for (u32 row = 0; row < rows_of(e); ++row) lanes[row] = buffer.within(active, row * 4, 4);
  }
  return lanes;
}

// The lanes that have all dwords or none, when they are neighbours in memory; else nothing.
template <usize rows>
std::optional<u64> lanes_together(const BufferAddresses& buffer,
                                  const std::array<u64, rows>& lanes) {
  if (rows > 1 && buffer.swizzled()) return std::nullopt;
  for (u64 row : lanes) {
    if (row != lanes[0]) return std::nullopt;
  }
  return lanes[0];
}

// Elements beyond the buffer read as zero.
template <Element e>
Flow load_buffer(Wave& wave, const Operation& op, const BufferAddresses& buffer, u32* dst) {
  static constexpr u8 kZero[16] = {};
  constexpr Element kPart = rows_of(e) == 1 ? e : Element::B32;
  const u64 active = wave.exec();
  const auto lanes = lanes_within<e>(buffer, active);
  for (u32 row = 0; row < rows_of(e); ++row) {
    u32* const to = dst + row * wave.lanes;
    for_each_lane(active & ~lanes[row],
                  [&](u32 lane) { put_lane<kPart>(to + lane, wave.lanes, kZero); });
  }
  LaneAddresses addresses;
  if (const auto together = lanes_together(buffer, lanes)) {
    if (*together == 0) return Flow::Next;
    buffer.fill(*together, 0, addresses);
    return load_lanes<e>(wave, op, *together, addresses, dst);
  }
  for (u32 row = 0; row < rows_of(e); ++row) {
    if (lanes[row] == 0) continue;
    buffer.fill(lanes[row], row * 4, addresses);
    u32* const to = dst + row * wave.lanes;
    if (load_lanes<kPart>(wave, op, lanes[row], addresses, to) == Flow::Stop) return Flow::Stop;
  }
  return Flow::Next;
}

// Elements beyond the buffer are not stored.
template <Element e>
Flow store_buffer(Wave& wave, const Operation& op, const BufferAddresses& buffer, const u32* src) {
  constexpr Element kPart = rows_of(e) == 1 ? e : Element::B32;
  const auto lanes = lanes_within<e>(buffer, wave.exec());
  LaneAddresses addresses;
  if (const auto together = lanes_together(buffer, lanes)) {
    if (*together == 0) return Flow::Next;
    buffer.fill(*together, 0, addresses);
    return store_lanes<e>(wave, op, *together, addresses, src);
  }
  for (u32 row = 0; row < rows_of(e); ++row) {
    if (lanes[row] == 0) continue;
    buffer.fill(lanes[row], row * 4, addresses);
    const u32* const from = src + row * wave.lanes;
    if (store_lanes<kPart>(wave, op, lanes[row], addresses, from) == Flow::Stop) return Flow::Stop;
  }
  return Flow::Next;
}

}  // namespace doorbell::emu::amdgpu
