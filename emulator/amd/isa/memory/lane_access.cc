// Stops a wave at an invalid access, or at undocumented behaviour.
#include "emulator/amd/isa/memory/lane_access.h"

#include <fmt/format.h>

namespace doorbell::emu::amdgpu {

Flow stop_at_fault(Wave& wave, const Operation& op, const AccessFault& fault, u32 lane) {
  wave.pc = op.pc;
  wave.exit = {.kind = Exit::Kind::Fault, .pc = op.pc, .address = fault.address, .lane = lane};
  wave.exit.write = fault.write;
  wave.exit.name = op.name;
  return Flow::Stop;
}

Flow stop_undocumented(Wave& wave, const Operation& op, std::string_view what) {
  wave.pc = op.pc;
  wave.exit = {.kind = Exit::Kind::Illegal, .pc = op.pc};
  wave.exit.name = std::string(op.name) + " " + std::string(what);
  return Flow::Stop;
}

Flow stop_out_of_bounds(Wave& wave, const Operation& op, Exit::Limit limit, u64 address, u32 lane,
                        std::string what, bool write) {
  wave.pc = op.pc;
  wave.exit = {.kind = Exit::Kind::Bounds,
               .limit = limit,
               .pc = op.pc,
               .address = address,
               .lane = lane,
               .write = write};
  wave.exit.name = std::string(op.name) + ": " + std::move(what);
  return Flow::Stop;
}

Flow stop_unaligned_atomic(Wave& wave, const Operation& op, u64 address, u32 lane, u32 bytes) {
  return stop_out_of_bounds(
      wave, op, Exit::Limit::Alignment, address, lane,
      fmt::format("an atomic operation of {} bytes at the unaligned address {:#x}", bytes, address),
      true);
}

void return_before(Wave& wave, const Operation& op, u32 bytes, const u64* before) {
  if ((op.flags & kMemoryReturns) == 0) return;
  u32* const dst = wave.v + op.dst_row;
  for_each_lane(wave.exec(), [&](u32 lane) {
    dst[lane] = static_cast<u32>(before[lane]);
    if (bytes == 8) dst[lane + wave.lanes] = static_cast<u32>(before[lane] >> 32);
  });
}

}  // namespace doorbell::emu::amdgpu
