// The probe of `doorbell amd probe`: what a real card does, step by step, against what
// docs/hw/amd-facts.md says. Steps from the bottom up: the kernel's topology, bare queues and their
// packets, then the driver's device with kernels. A step that fails does not stop those behind it,
// unless they need it.
//
// It drives a GPU of the process's Kfd, real or emulated. Kernels are in kernels.h, for all chips,
// so that it needs no compiler.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "drivers/amd/kernel/kfd.h"
#include "tools/amd_probe/report.h"

namespace doorbell::tools {

struct ProbeOptions {
  usize gpu = 0;                   // of the topology's GPUs
  u64 timeout_ns = 5'000'000'000;  // of one thing
  bool large = false;              // also the copy engine's largest packet
  bool faults = false;             // also what disturbs: wrong instructions and addresses, a hang
  // Called with each step's report when it ends; may be null.
  std::function<void(const StepReport&)> tell;
  // Runs the probe without faults in a process of its own, which a memory fault of this one does
  // not stop; false: that one found differences. Null: there is no other process.
  std::function<Result<bool>()> in_other_process;
};

// Fails where the GPU cannot be opened, or is of an unknown chip. shared_ptr: devices keep it.
Result<std::vector<StepReport>> run_probe(const std::shared_ptr<amd::Kfd>& kfd,
                                          const ProbeOptions& options);

// A step by its name and the facts that it tests.
struct StepFacts {
  std::string_view name;
  std::span<const Fact> facts;
};
std::vector<StepFacts> probe_steps();

}  // namespace doorbell::tools
