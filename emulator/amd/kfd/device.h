// One emulated GPU as the KFD driver sees it: its slot, memory, page tables, and the engine that
// runs its queues. For buffers see buffers.h, for queues queues.h.
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
  std::unique_ptr<Backing> memory;    // the memory that its render node maps: VRAM, GTT
  Engine* engine = nullptr;           // borrowed: outlives the process's queues
  std::atomic<bool> acquired{false};  // the process has ACQUIRE_VM on it
  u64 vram_used = 0, gtt_used = 0;    // under the lock of Buffers
  u64 doorbells = 0;                  // offset of its doorbell pages in KFD's own memory
  u64 registers = 0;                  // the same of its page of remapped registers
};

}  // namespace doorbell::emu::amdgpu
