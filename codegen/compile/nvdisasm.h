// Cubins as text, by NVIDIA's nvdisasm, which comes with a toolkit and on PyPI.
#pragma once

#include "codegen/compile/cuda_toolkit.h"

namespace doorbell::codegen {

// One instruction a line, with control flow's labels. Starts a program and waits for it.
Result<std::string> disassemble_cubin(const CudaFolders& where, std::span<const u8> cubin);

}  // namespace doorbell::codegen
