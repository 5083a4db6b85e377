// What the queues of one emulated GPU share: the chip, memory, time, chance, the checks that judge
// them and the interrupts they raise. Used by the GPU's thread only.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "base/util/format.h"
#include "drivers/amd/hw/generation.h"
#include "emulator/amd/compute/wave_sync.h"
#include "emulator/amd/cp/guest_memory.h"
#include "emulator/amd/cp/launcher.h"
#include "emulator/amd/cp/packet_hook.h"
#include "emulator/amd/cp/register_file.h"
#include "emulator/core/checks.h"
#include "emulator/core/races/agent_races.h"
#include "emulator/core/trace.h"

namespace doorbell::emu::amdgpu {

// Of the event that an interrupt names: its low `valid_bits`.
struct EventInterrupt {
  u32 context_id = 0;
  unsigned valid_bits = 32;
};
using Interrupt = std::variant<EventInterrupt, MemoryFault, HwException>;

struct GpuContext {
  GpuContext(const AddressSpace& space, Caches* caches) : memory(space, caches), caches(caches) {}

  amd::hw::Generation generation = amd::hw::Generation::Gfx11;
  u32 xccs = 1;
  u32 xcc_mask() const { return (u32{1} << xccs) - 1; }
  bool wave32_possible() const { return generation != amd::hw::Generation::Gfx9; }
  u32 engines = 1;        // shader engines of each
  u32 compute_units = 0;  // of all XCCs; 0: not known
  u32 waves_per_unit = 0;
  bool scratch_reclaim = false;
  u32 lds_unit = 512;     // bytes per unit of RSRC2's LDS_SIZE
  u32 lds_bytes = 65536;  // that a work group may have
  int index = 0;          // for the trace

  GuestMemory memory;
  Caches* caches;  // borrowed; null unless adversarial
  Launcher* launcher = nullptr;
  Checks* checks = nullptr;
  Trace* trace = nullptr;       // or null
  PacketHook* hook = nullptr;   // or null
  AgentRaces* races = nullptr;  // or null: not judged
  UconfigRegisters uconfig;
  GlobalWaveSync wave_sync;
  bool has_wave_sync = false;  // some queue has brought it

  // The GPU's clock counter: 100 MHz on every chip that KFD reports a frequency for.
  // [tinygrad ops_amd.py AMDSignal timestamp_divider=100; amdgpu *_get_clock_counter]
  std::function<u64()> clock;
  std::mt19937_64 random;
  // Instructions that waves have run since a grid retired: in lockstep, many are a kernel that may
  // be waiting for the host.
  u64 spun = 0;
  bool adversarial = false;
  u64 hang_after = 0;  // wave instructions of one grid; 0: no limit

  // Delivered by Gpu when its lock is free.
  std::vector<Interrupt> interrupts;

  bool chance(u32 one_in) { return random() % one_in == 0; }
};

}  // namespace doorbell::emu::amdgpu
