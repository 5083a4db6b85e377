// What the mutants are tried on: the driver of NVIDIA's kernel modules on an emulated GPU in
// lockstep, with a little of everything: copies, launches, a recorded graph of copies and chained
// kernels, code in the place of other code.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/os/files.h"
#include "emulator/core/trace.h"
#include "emulator/nv/host/fetch_hook.h"
#include "tests/emulator/mutation/outcome.h"

namespace doorbell::testing {

struct NvWorkload {
  std::string chip = "sm_86";
  bool adversarial = false;
  u64 seed = 1;
  emu::nvgpu::FetchHook* hook = nullptr;  // sees what the GPU reads; null: nobody
  emu::Trace::Sink trace;                 // may be null
  // Puts something between the driver and the machine's files; may be null.
  std::function<std::unique_ptr<os::Files>(std::unique_ptr<os::Files>)> wrap;
};

Outcome run_nv_workload(const NvWorkload& workload);

}  // namespace doorbell::testing
