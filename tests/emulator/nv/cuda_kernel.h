// Kernels in CUDA C++, compiled by NVRTC where there is one, and run by the interpreter.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "emulator/nv/compute/launch.h"
#include "emulator/nv/isa/words.h"

namespace doorbell::emu::nvgpu::testing {

// A cubin of `source`, or null and why.
struct CompiledCuda {
  std::unique_ptr<Cubin> cubin;
  std::string missing;  // there is no compiler
};
// `edit` may change each instruction.
using EditInstruction = std::function<void(Words&)>;
CompiledCuda compile_cuda(const std::string& source, const std::string& chip,
                          const EditInstruction& edit = {});

// Launches the only kernel of a source. Its first argument is the address of a buffer of words, the
// others are the words of `more`.
struct CudaRun {
  std::vector<u32> words;
  LaunchResult result;
  std::vector<Report> reports;
};
struct CudaLaunch {
  std::array<u32, 3> grid{1, 1, 1}, block{32, 1, 1};
  u32 dynamic_shared = 0;
  std::vector<u32> more;
  std::string levels;  // of rules, as Checks::configure takes them
  u64 most_instructions = 10'000'000;
  Counts* counts = nullptr;  // borrowed
};
CudaRun run_cuda(const Cubin& cubin, std::vector<u32> words, const CudaLaunch& launch);

// Runs each test on the code of each chip.
class CudaTest : public ::testing::TestWithParam<std::string> {
 protected:
  // Skips the test without a compiler: to be followed by `if (!cubin_) return;`.
  void compile(const std::string& source, const EditInstruction& edit = {});
  CudaRun run(std::vector<u32> words, const CudaLaunch& launch = {}) {
    return run_cuda(*cubin_, std::move(words), launch);
  }
  std::unique_ptr<Cubin> cubin_;
};

}  // namespace doorbell::emu::nvgpu::testing
