// gfx12: loads and stores of up to 32 registers at once, those whose bits M0 has, each at its own
// dword behind the address.
// [RDNA4 ISA, GLOBAL_LOAD_BLOCK, GLOBAL_STORE_BLOCK, SCRATCH_LOAD_BLOCK, SCRATCH_STORE_BLOCK]
#include <fmt/format.h>

#include "emulator/amd/isa/decode/decode_memory.h"
#include "emulator/amd/isa/memory/private_access.h"
#include "emulator/amd/isa/tables.h"

namespace doorbell::emu::amdgpu {

namespace {

// Calls access(register's row, bytes behind the address) for each of M0's bits.
template <bool kStore, class Access>
Flow for_each_register(Wave& wave, const Operation& op, Access&& access) {
  const u32 mask = wave.s[kM0];
  const u32 first = kStore ? op.src[kData].index : op.dst;
  const u32 end = first + 32 - static_cast<u32>(std::countl_zero(mask));
  if (mask != 0 && end > wave.vgpr_count) {
    const std::string what = fmt::format("register {}, the wave has {}", end - 1, wave.vgpr_count);
    return stop_out_of_bounds(wave, op, Exit::Limit::Registers, 0, 0, what, kStore);
  }
  for (u32 left = mask; left != 0; left &= left - 1) {
    const u32 i = static_cast<u32>(std::countr_zero(left));
    if (access(wave.row(first + i), 4 * i) == Flow::Stop) return Flow::Stop;
  }
  return Flow::Next;
}

template <bool kStore>
Flow global_block(Wave& wave, const Operation& op) {
  const u64 active = wave.exec();
  if (active == 0) return Flow::Next;
  LaneAddresses start;
  global_addresses(wave, op, active, start);
  return for_each_register<kStore>(wave, op, [&](u32* row, u32 behind) {
    LaneAddresses at = start;
    at.base += behind;
    if (!at.compact) {
      for (u32 lane = 0; lane < wave.lanes; ++lane) at.wide[lane] += behind;
    }
    return kStore ? store_lanes<Element::B32>(wave, op, active, at, row)
                  : load_lanes<Element::B32>(wave, op, active, at, row);
  });
}

template <bool kStore>
Flow scratch_block(Wave& wave, const Operation& op) {
  const u64 active = wave.exec();
  if (active == 0) return Flow::Next;
  alignas(64) u32 start[64], at[64];
  scratch_offsets(wave, op, start);
  return for_each_register<kStore>(wave, op, [&](u32* row, u32 behind) {
    for (u32 lane = 0; lane < wave.lanes; ++lane) at[lane] = start[lane] + behind;
    return kStore ? store_scratch<Element::B32>(wave, op, active, at, row)
                  : load_scratch<Element::B32>(wave, op, active, at, row);
  });
}

// M0 selects the registers at run time.
constexpr Shape kLoad{.flags = kMemory | kM0Selects, .wide = {1, 1, 0, 0, 0}};
constexpr Shape kStored{.flags = kMemory | kM0Selects, .wide = {0, 1, 1, 0, 0}};

constexpr Entry kTable[] = {
    {"GLOBAL_LOAD_BLOCK", kLoad, &global_block<false>},
    {"GLOBAL_STORE_BLOCK", kStored, &global_block<true>},
    {"SCRATCH_LOAD_BLOCK", kLoad, &scratch_block<false>},
    {"SCRATCH_STORE_BLOCK", kStored, &scratch_block<true>},
};

}  // namespace

HandlerTable memory_blocks_table() { return kTable; }

}  // namespace doorbell::emu::amdgpu
