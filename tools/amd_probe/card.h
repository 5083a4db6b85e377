// Card: the GPU that a run of the probe is about, and what its steps share.
//
// Thread safety: one thread at a time.
#pragma once

#include <functional>
#include <memory>

#include "drivers/amd/device.h"
#include "tools/amd_probe/probe.h"

namespace doorbell::tools {

struct Card {
  std::shared_ptr<amd::Kfd> kfd;
  const ProbeOptions& options;
  amd::KfdGpu& gpu;  // the Kfd's
  const amd::Caps& caps;
  bool is_lost = false;  // a fault ended this process's use of it
  // Of the step that runs: the packets of its queues, and what it saw of them.
  std::vector<std::string> trace = {};

  const amd::NodeProperties& properties() const { return gpu.node().properties; }
  os::Clock& clock() const { return kfd->clock(); }

  // Until `done` is true, or the time is up: then false.
  bool wait(const std::function<bool()>& done) const { return wait(done, options.timeout_ns); }
  bool wait(const std::function<bool()>& done, u64 timeout_ns) const;
  // Memory that host and GPU see, zeroed.
  Result<std::unique_ptr<amd::KfdMemory>> host_memory(u64 bytes) const;
  // The driver's device, as programs use it; each a new one.
  Result<std::unique_ptr<amd::AmdDevice>> open_device(u64 timeout_ns) const;
};

// A step: what it tests, and which step must have gone well before.
struct Step {
  std::string_view name;
  std::span<const Fact> facts;  // the first is the one that an error of the driver contradicts
  std::string_view needs;       // a step's name, or empty
  bool is_fault = false;        // only with ProbeOptions::faults
  Result<Outcome> (*run)(Card& card);
};

// In order, by file.
std::span<const Step> topology_steps();
std::span<const Step> queue_steps();
std::span<const Step> copy_steps();
std::span<const Step> kernel_steps();
std::span<const Step> fault_steps();

}  // namespace doorbell::tools
