// HostRaces: the host as an agent (agent_races.h). A driver tells what the host copies in and out
// of memory that devices see (base/os/host_accesses.h); it is behind all that was released in
// memory by then, whether it has looked or not, and devices are behind it at its next doorbell, or
// by a value that it writes. All threads of the host are one agent.
#pragma once

#include <memory>

#include "base/os/host_accesses.h"
#include "emulator/core/checks.h"
#include "emulator/core/races/agent_races.h"

namespace doorbell::emu {

// Thread safety: from any thread.
class HostRaces final : public os::HostAccesses {
 public:
  // All are borrowed. Races are reported as violations of `rule`.
  HostRaces(AgentRaces& races, Checks& checks, const Check& rule);
  ~HostRaces() override;
  Result<void> access(const void* at, u64 bytes, bool is_write) override;

 private:
  AgentRaces& races_;
  Checks& checks_;
  const Check& rule_;
  std::shared_ptr<RaceTask> task_;
};

}  // namespace doorbell::emu
