// Counts what waves execute and access. Memory is counted by a Memory between the handlers and the
// real one, LDS by check_lds() (isa/memory/private_access.h), which tells Wave::lds_observer.
#pragma once

#include "emulator/amd/isa/chip.h"
#include "emulator/amd/isa/memory/lds_observer.h"
#include "emulator/amd/isa/memory/passing_memory.h"
#include "emulator/amd/isa/operation.h"
#include "emulator/amd/isa/wave.h"
#include "emulator/core/instruction_counter.h"

namespace doorbell::emu::amdgpu {

// In which cycle LDS serves a lane, for bank_conflicts().
SharedCycle lds_cycle(const Chip& chip);

class CountingMemory final : public PassingMemory {
 public:
  // Both are borrowed.
  CountingMemory(Memory& memory, InstructionCounter& counter)
      : PassingMemory(memory), counter_(counter) {}

  // Accesses of this wave's scratch are not counted: it is not the kernel's memory.
  void set_wave(const Wave& wave);

  bool load(u64 va, u32 bytes, void* out, CachePolicy policy) override;
  bool store(u64 va, u32 bytes, const void* in, CachePolicy policy) override;
  bool atomic(u64 va, u32 bytes, AtomicUpdate update, u64 operand, u64 compare, u64& before,
              CachePolicy policy) override;
  bool scalar_load(u64 va, u32 bytes, void* out, CachePolicy policy) override;

 private:
  bool note(bool succeeded, u64 va, u32 bytes, bool is_write);

  InstructionCounter& counter_;
  u64 scratch_ = 0, scratch_bytes_ = 0;
};

// Thread safety: one thread at a time.
class WaveCounter final : public LdsObserver {
 public:
  // `memory` is borrowed. The first take() has the launches.
  WaveCounter(const Chip& chip, Memory& memory, u64 launches)
      : counts_{.launches = launches},
        counter_(counts_, lds_cycle(chip)),
        memory_(memory, counter_) {}

  // What run_counted() calls.
  CountingMemory& begin(Wave& wave);
  void begin_block() { last_pc_ = ~u64{0}; }
  void begin(const Operation& op);
  void end() { counter_.end(); }
  void accessed(const Wave& wave, const Operation& op, u64 active, const u32* address, u32 bytes,
                LdsAccess access) override;

  // Since the last call.
  KernelCounts take();

 private:
  KernelCounts counts_;
  InstructionCounter counter_;
  CountingMemory memory_;
  u64 last_pc_ = ~u64{0};  // several operations of one instruction (VOPD) follow each other
};

}  // namespace doorbell::emu::amdgpu
