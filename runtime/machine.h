// What this machine's processor is: what the system tells of it (base/os/cpu_topology.h) and what
// was measured (drivers/cpu/core_speed.h). Speeds are measured by the first process that has a
// cache on disk, and kept there for the next.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/os/cpu_topology.h"
#include "base/os/system.h"
#include "codegen/caps.h"
#include "codegen/compile/disk_table.h"
#include "drivers/cpu/core_speed.h"
#include "drivers/cpu/worker_pool.h"

namespace doorbell::runtime {

struct Machine {
  os::CpuTopology topology;             // without CPUs where the system does not list them
  std::optional<cpu::CoreSpeed> speed;  // of a core of the fastest kind

  const os::CoreKind& fastest() const;
};

// Speeds are those in `kept`; those that are not there yet are measured and stored. Null: there are
// none.
Machine find_machine(const os::System& system, const cpu::SpeedLoops& loops,
                     codegen::DiskTable* kept);

// This machine, found by the first call.
const Machine& this_machine();

// What plans should know of the machine. `caps` has the vectors of the code that is to be made,
// which may be narrower than the machine's.
void refine(const Machine& machine, codegen::Caps* caps);

// The threads that run kernels.
struct Workers {
  int threads = 1;
  cpu::WorkerCpus cpus;
};

// As many as `asked`, or, for 0, as there are cores among `allowed` CPUs: two hardware threads of a
// core share its multipliers. If there are as many as cores, each has a core of its own; fewer
// share one CPU of each core, so that processes of few threads do not meet on the same ones.
Workers place_workers(const os::CpuTopology& topology, const std::vector<int>& allowed, int asked);

// For people, a fact a line.
std::string describe(const Machine& machine);

}  // namespace doorbell::runtime
