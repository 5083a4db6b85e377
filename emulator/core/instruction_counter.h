// Counts the instructions of a wave, and what their lanes access. An interpreter calls begin()
// before an instruction, the note functions for each access, and end() behind it.
#pragma once

#include <vector>

#include "emulator/core/counts.h"

namespace doorbell::emu {

// Shared memory has 32 banks of 4 bytes, and serves 128 bytes in a cycle if they lie in different
// banks or are the same. [AMD "RDNA3 ISA", 12.1 "Overview" of the LDS; CUDA Programming Guide 13,
// "Shared Memory", "Bank Conflicts"]
inline constexpr u32 kBanks = 32, kBankBytes = 4;

// One lane's access of shared memory.
struct SharedAccess {
  u32 lane = 0;
  u64 address = 0;
  u32 bytes = 0;
};

// The cycle, from 0, in which a lane's access is served if there are no conflicts.
using SharedCycle = u32 (*)(u32 lane, u32 bytes, bool is_write);
// As many neighbouring lanes in a cycle as access 128 bytes.
u32 neighbours_cycle(u32 lane, u32 bytes, bool is_write);

// Cycles beyond those without conflicts: lanes that are served in the same cycle access different
// words of a bank, and each word but the first costs one more. Lanes that do not take part cost
// nothing.
u64 bank_conflicts(const std::vector<SharedAccess>& accesses, bool is_write, SharedCycle cycle);

// Thread safety: one thread at a time.
class InstructionCounter {
 public:
  // `to` is borrowed.
  InstructionCounter(KernelCounts& to, SharedCycle cycle) : to_(to), cycle_(cycle) {}

  void begin(InstructionClass kind) {
    kind_ = kind;
    ++to_.of(kind);
  }
  void note_shared(u32 lane, u64 address, u32 bytes, bool is_write) {
    shared_.push_back({lane, address, bytes});
    writes_shared_ = is_write;
  }
  // The accesses of shared memory that follow are another one: AMD's instructions may have two
  // addresses.
  void end_shared();
  void note_global(u64 address, u32 bytes, bool is_write);
  void end();

 private:
  KernelCounts& to_;
  const SharedCycle cycle_;
  InstructionClass kind_ = InstructionClass::Other;
  bool writes_shared_ = false;
  std::vector<SharedAccess> shared_;
  std::vector<u64> sectors_;
};

}  // namespace doorbell::emu
