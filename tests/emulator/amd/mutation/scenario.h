// One use of our driver on an emulated GPU, small enough to be repeated for every mutant of its
// packets: data in, two kernels that depend on each other, data out; then once more with other data
// and other code, so that whatever stays behind from the first time shows.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/util/result.h"
#include "drivers/amd/device.h"
#include "emulator/amd/cp/packet_hook.h"
#include "emulator/amd/machine.h"

namespace doorbell::testing {

struct ScenarioOptions {
  std::string gpu = "gfx1100";
  bool aql = false;
  bool adversarial = true;
  u64 seed = 1;
  emulator::amd::PacketHook* hook = nullptr;
};

struct ScenarioResult {
  bool right = false;                // all data that came out
  std::string error;                 // what the driver said, or ""
  std::vector<std::string> faults;   // what stopped a queue
  std::vector<std::string> reports;  // of checks, by id
};

ScenarioResult run_scenario(const ScenarioOptions& options);

}  // namespace doorbell::testing
