// One emulated GPU as the kernel's door sees it: its place, its memory, its page tables, the engine
// that runs its queues. Buffers are in buffers.h, queues in queues.h.
#pragma once

#include <atomic>
#include <memory>

#include "emulator/amd/kfd/engine.h"
#include "emulator/amd/kfd/topology.h"
#include "emulator/core/address_space.h"
#include "emulator/core/backing.h"

namespace doorbell::emu::amdgpu {

struct Device {
  Slot slot;
  AddressSpace space;
  std::unique_ptr<Backing> memory;    // what its render node maps: VRAM, GTT
  Engine* engine = nullptr;           // borrowed: outlives the process's queues
  std::atomic<bool> acquired{false};  // the process has ACQUIRE_VM on it
  u64 vram_used = 0, gtt_used = 0;    // under the lock of Buffers
  u64 doorbells = 0;                  // offset of its doorbell pages in KFD's own memory
  u64 registers = 0;                  // the same of its page of remapped registers
};

}  // namespace doorbell::emu::amdgpu
