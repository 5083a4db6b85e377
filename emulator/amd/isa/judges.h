// Judges: who is told of each operation that a wave executes, by the loops of isa/run.h and
// isa/shadow/twin.h.
#pragma once

#include "emulator/amd/isa/races/race_memory.h"
#include "emulator/amd/isa/waits/pending_loads.h"

namespace doorbell::emu::amdgpu {

// All borrowed; null: that is not judged.
struct Judges {
  PendingLoads* loads = nullptr;  // whether loads were waited for
  RaceMemory* races = nullptr;    // the wave's memory, or what that goes through

  bool any() const { return loads != nullptr || races != nullptr; }
  void begin_block() const {}
  void begin(const Operation& op) const {
    if (loads != nullptr) loads->begin(op);
    if (races != nullptr) races->begin(op);
  }
  void end() const {}
};

}  // namespace doorbell::emu::amdgpu
