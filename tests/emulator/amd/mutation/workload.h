// What the mutants are tried on: the shipping driver on an emulated GPU in lockstep, doing a little
// of everything: copies by the copy engine, two kernels (one with local memory and a private
// array), each launched by itself and in a recorded graph, two rounds with other numbers. A run
// tells every way in which a mistake can show.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/os/files.h"
#include "base/util/result.h"
#include "base/util/types.h"
#include "emulator/amd/cp/packet_hook.h"
#include "emulator/core/trace.h"
#include "tests/emulator/mutation/outcome.h"

namespace doorbell::testing {

struct Workload {
  std::string chip = "gfx1100";
  bool aql = false;
  bool adversarial = true;
  u64 seed = 1;
  emu::Trace::Sink trace;  // may be null
  // Puts something between the driver and the machine's files; may be null.
  std::function<std::unique_ptr<os::Files>(std::unique_ptr<os::Files>)> wrap;
};

// Kernels of the workload for a chip; compiled once.
struct WorkloadCode {
  std::vector<u8> before, kernels;  // code objects; the second takes the first one's place
};
Result<WorkloadCode> compile_workload(const std::string& chip);

// `hook` intercepts the queues; may be null.
Outcome run_workload(const Workload& workload, const WorkloadCode& code,
                     emu::amdgpu::PacketHook* hook);

}  // namespace doorbell::testing
