// PTX to cubins by nvJitLink, NVIDIA's linker as a library (a CUDA toolkit's, or PyPI's
// nvidia-nvjitlink), opened while running.
#pragma once

#include <memory>
#include <string>

#include "codegen/compile/compiler.h"
#include "codegen/compile/cuda_toolkit.h"

namespace doorbell::codegen {

// Cubins for the chip, "sm_90", of what `to_ptx` compiles to PTX. Fails where there is no nvJitLink
// and says what to do; a chip that it does not know fails the first kernel.
Result<std::unique_ptr<Compiler>> make_nvjitlink_compiler(std::string chip, CudaFolders where,
                                                          std::unique_ptr<Compiler> to_ptx);

// The newest version of PTX that it reads: 84 for PTX 8.4.
Result<int> ptx_of_nvjitlink(const CudaFolders& where);

// "nvJitLink 13.0 in /usr/...", or why there is none.
Result<std::string> describe_nvjitlink(const CudaFolders& where);

}  // namespace doorbell::codegen
