// GridAccesses: tells a grid's task (agent_races.h) what its waves access, as RaceMemory sees it.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "emulator/amd/isa/chip.h"
#include "emulator/amd/isa/memory/memory.h"
#include "emulator/amd/isa/operation.h"
#include "emulator/amd/isa/races/race.h"
#include "emulator/amd/races/agent_races.h"

namespace doorbell::emu::amdgpu {

// Of a grid on one XCC. Thread safety: one thread at a time.
class GridAccesses {
 public:
  // All are borrowed.
  GridAccesses(RaceTask& task, const AddressSpace& space, const Chip& chip)
      : task_(task), space_(space), memory_(space), generation_(chip.generation) {}

  // What accesses memory next.
  void begin(const Operation& op) { op_ = &op; }
  void load(u64 va, u32 bytes, CachePolicy policy);
  // Before the bytes are stored; before they are updated, and behind that.
  void store(u64 va, std::span<const u8> bytes, CachePolicy policy);
  void atomic(u64 va, u32 bytes, AtomicUpdate update, u64 operand, u64 compare);
  void updated(u64 va, u32 bytes);

  // What was found since the last call.
  std::vector<Race> take() { return std::exchange(found_, {}); }

 private:
  // The host's bytes; null if they are not all in one mapping.
  const u8* at(u64 va, u64 bytes) { return memory_.at(va, bytes, false); }
  u64 cell_at(u64 va);
  AgentAccess store_access(CachePolicy policy) const;
  void judge(u64 va, u32 bytes, AgentAccess access, const char* does);
  void acquire(u64 va, u32 bytes);
  void release(u64 va, std::span<const u8> bytes);

  RaceTask& task_;
  const AddressSpace& space_;
  DirectMemory memory_;
  const Generation generation_;
  const Operation* op_ = nullptr;
  std::vector<Race> found_;
};

}  // namespace doorbell::emu::amdgpu
