// Kernels compiled by NVIDIA's compilers and run by the interpreter of their machine code: what the
// CUDA and the PTX renderer write, down to instructions, against core/eval.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "codegen/compile/compiler.h"
#include "codegen/compile/cuda_toolkit.h"
#include "codegen/render/renderer.h"
#include "emulator/nv/compute/cubin.h"

namespace doorbell::codegen::testing {

// That of the tests' Python, which scripts/test fills.
CudaFolders nv_folders();

// "CUDA_sm_86": renderer and chip.
const std::vector<std::string>& nv_targets();
bool is_nv_target(const std::string& name);

struct NvToolchain {
  std::unique_ptr<Renderer> renderer;
  Result<std::unique_ptr<Compiler>> compiler;
};
NvToolchain make_nv_toolchain(std::string_view renderer, std::string_view chip,
                              bool tensor_maps = false);
// Of a target's name.
NvToolchain make_nv_toolchain(const std::string& target);

// Adds tensor maps to a launch's parameters, which begin at `base` of the constant bank;
// `addresses` are those of its buffers, by slot.
void append_tensor_maps(std::span<const core::TensorMap> maps, std::span<const u64> addresses,
                        u32 base, std::vector<u8>* parameters);

// A cubin with a linear program's kernel.
struct NvKernel {
  LinearProgram program;
  std::unique_ptr<emu::nvgpu::Cubin> cubin;

  // `args` are as many bytes of the host as the program's parameters have. A fault fails the test.
  void run(const std::vector<void*>& args, const std::vector<i64>& variables) const;
};

}  // namespace doorbell::codegen::testing
