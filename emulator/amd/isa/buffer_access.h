// One element per lane between a buffer and rows of lanes, which may be registers or not. What an
// element's bits mean is for the instructions: buffer_memory.cc's take them as they are,
// typed_buffers.cc's by a format.
#pragma once

#include "emulator/amd/isa/buffer_address.h"
#include "emulator/amd/isa/decode_memory.h"
#include "emulator/amd/isa/lane_access.h"

namespace doorbell::emulator::amd {

// Lanes whose element is beyond the buffer load zero, and do not store.
template <Element e>
Flow load_buffer(Wave& wave, const Operation& op, u32* dst) {
  const u64 active = wave.exec();
  if (active == 0) return Flow::Next;
  const BufferAddresses buffer(wave, op);
  const u64 within = buffer.within(active, bytes_of(e));
  static constexpr u8 kZero[16] = {};
  for_each_lane(active & ~within, [&](u32 lane) { put_lane<e>(dst + lane, wave.lanes, kZero); });
  if (within == 0) return Flow::Next;
  LaneAddresses addresses;
  if (!buffer.swizzled() || rows_of(e) == 1) {
    buffer.fill(within, 0, addresses);
    return load_lanes<e>(wave, op, within, addresses, dst);
  }
  for (u32 row = 0; row < rows_of(e); ++row) {
    buffer.fill(within, row * 4, addresses);
    u32* to = dst + row * wave.lanes;
    if (load_lanes<Element::B32>(wave, op, within, addresses, to) == Flow::Stop) return Flow::Stop;
  }
  return Flow::Next;
}

template <Element e>
Flow store_buffer(Wave& wave, const Operation& op, const u32* src) {
  const u64 active = wave.exec();
  if (active == 0) return Flow::Next;
  const BufferAddresses buffer(wave, op);
  const u64 within = buffer.within(active, bytes_of(e));
  if (within == 0) return Flow::Next;
  LaneAddresses addresses;
  if (!buffer.swizzled() || rows_of(e) == 1) {
    buffer.fill(within, 0, addresses);
    return store_lanes<e>(wave, op, within, addresses, src);
  }
  for (u32 row = 0; row < rows_of(e); ++row) {
    buffer.fill(within, row * 4, addresses);
    const u32* from = src + row * wave.lanes;
    if (store_lanes<Element::B32>(wave, op, within, addresses, from) == Flow::Stop) {
      return Flow::Stop;
    }
  }
  return Flow::Next;
}

}  // namespace doorbell::emulator::amd
