// GridAccesses: tells a grid's task (agent_races.h) what its waves access. The memory that waves
// access says it, for each lane: amd/isa/races/race_memory.h, nv/compute/access_judge.h.
#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "emulator/core/address_space.h"
#include "emulator/core/races/agent_races.h"
#include "emulator/core/races/race.h"

namespace doorbell::emu {

// Of a grid, or of its part on one XCC. Thread safety: one thread at a time.
class GridAccesses {
 public:
  // All are borrowed.
  GridAccesses(RaceTask& task, const AddressSpace& space) : task_(task), space_(space) {}

  // What accesses memory next.
  void begin(u64 pc, std::string_view name) { pc_ = pc, name_ = name; }
  // It accesses bytes that lie in the host's memory at `host`.
  void access(u64 va, const u8* host, u32 bytes, AgentAccess access);
  // It has read them by an atomic load or operation.
  void acquire(const u8* host, u32 bytes);
  // It is about to write them by an atomic store or operation.
  void release(const u8* host, std::span<const u8> bytes);

  // What was found since the last call.
  std::vector<Race> take() { return std::exchange(found_, {}); }

 private:
  RaceTask& task_;
  const AddressSpace& space_;
  u64 pc_ = 0;
  std::string_view name_;
  std::vector<Race> found_;
};

}  // namespace doorbell::emu
