// NVRTC, NVIDIA's compiler as a library (a CUDA toolkit's, or PyPI's nvidia-cuda-nvrtc), opened
// while running.
#pragma once

#include <memory>
#include <string>

#include "codegen/compile/compiler.h"
#include "codegen/compile/cuda_toolkit.h"

namespace doorbell::codegen {

// CUDA C++ (cuda_renderer.h) to cubins for the chip, "sm_90". Fails where there is no NVRTC, or it
// does not know the chip, and says what to do.
Result<std::unique_ptr<Compiler>> make_nvrtc_compiler(std::string chip, CudaFolders where);

// The newest version of PTX that it reads, in inline assembly: 84 for PTX 8.4.
Result<int> ptx_of_nvrtc(const CudaFolders& where);

// "NVRTC 13.0 in /usr/...", or why there is none.
Result<std::string> describe_nvrtc(const CudaFolders& where);

}  // namespace doorbell::codegen
