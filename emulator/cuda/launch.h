// Launches as clients describe them, for streams and for graphs.
#pragma once

#include <memory>

#include "emulator/cuda/call.h"

namespace doorbell::emu::cuda {

// What cuLaunchKernel and the nodes of graphs are given.
struct LaunchRequest {
  Handle function;
  u32 grid[3], block[3];
  u32 shared_bytes;
  void** parameters;  // by parameter, or null
  void** extra;       // CU_LAUNCH_PARAM_..., or null
};

// Checks and copies it; null after a report, and then `status` has what the call returns.
std::shared_ptr<const KernelLaunch> make_launch(const Call& call, const LaunchRequest& request,
                                                int* status);

}  // namespace doorbell::emu::cuda
