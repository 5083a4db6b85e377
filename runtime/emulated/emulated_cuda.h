// The emulated CUDA driver behind EMUCUDA, as the composition root sees it. A program links one of
// two definitions: emulated_cuda.cc, or no_emulator.cc, which refuses (see emulated_amd.h).
#pragma once

#include <string>

#include "base/util/result.h"
#include "drivers/cuda/api.h"
#include "runtime/emulated/emulator_settings.h"

namespace doorbell::runtime {

// Starts the driver of the process, once. `arch`: the GPU that DEV asks for, or empty.
Result<cuda::FindSymbol> open_emulated_cuda(const EmulatorSettings& settings,
                                            const std::string& arch);
// What stopped a kernel last; empty: nothing did.
std::string emulated_cuda_fault();

}  // namespace doorbell::runtime
