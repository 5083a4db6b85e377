// What the functions of modules, libraries, streams and graphs share: modules, functions, launches.
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

// The function of a handle: a module's, or, of a library's kernel, that of the current context. 0
// where there is none, after a report, and then `status` has what the call returns.
Handle find_function(const Call& call, Handle handle, int* status);

// cuModuleLoadData and cuModuleGetFunction without a call of their own.
int load_module(const Call& call, const void* image, Handle* module);
int function_of(const Call& call, Handle module, std::string_view name, Handle* function);
// Waits for a module's kernels where the rule is not an error, then drops it; what the call
// returns.
int unload_module(Call& call, Handle module);
// CU_FUNC_ATTRIBUTE_... of a function, or CUDA_ERROR_NOT_SUPPORTED.
int function_attribute(const Function& function, int attribute, int* value);
int set_function_attribute(const Call& call, Function& function, int attribute, int value);
// Queues a launch; what the call returns.
int submit_launch(const Call& call, const LaunchRequest& request, Handle stream);

// Checks and copies it; null after a report, and then `status` has what the call returns.
std::shared_ptr<const KernelLaunch> make_launch(const Call& call, const LaunchRequest& request,
                                                int* status);

}  // namespace doorbell::emu::cuda
