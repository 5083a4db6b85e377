// Hand-built linear programs for the tests of the CPU renderers, and running them by either.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "codegen/compile/compiler.h"
#include "codegen/compile/load_object.h"
#include "codegen/linear/program.h"
#include "codegen/render/renderer.h"
#include "core/uop/arena.h"
#include "tests/codegen/render/nv_emulated.h"

namespace doorbell::codegen::testing {

// Appends to a linear program as it makes nodes.
class ProgramBuilder {
 public:
  explicit ProgramBuilder(std::string name = "kernel") { program.name = std::move(name); }

  core::UOp op(core::Op op, core::DType dtype, std::initializer_list<core::UOp> srcs,
               std::initializer_list<i64> args = {}) {
    return list(arena.make(op, dtype, srcs, args));
  }
  core::UOp op(core::Op op, core::DType dtype, const std::vector<core::UOp>& srcs) {
    return list(arena.make(op, dtype, srcs));
  }
  core::UOp list(core::UOp u) {
    program.ops.push_back(u);
    return u;
  }
  core::UOp param(core::DType dtype, i64 count, bool written = false) {
    program.params.push_back({dtype, count, written});
    return op(core::Op::Param, dtype, {}, {static_cast<i64>(program.params.size()) - 1, count});
  }
  core::UOp number(i64 value, core::DType dtype = core::dtypes::i64) {
    return arena.const_int(dtype, value);
  }
  core::UOp real(f64 value, core::DType dtype = core::dtypes::f32) {
    return arena.const_float(dtype, value);
  }
  core::UOp index(core::UOp memory, core::UOp element) {
    return op(core::Op::Index, memory.dtype(), {memory, element});
  }
  core::UOp gated(core::UOp memory, core::UOp element, core::UOp gate) {
    return op(core::Op::Index, memory.dtype(), {memory, element, gate});
  }
  core::UOp load(core::UOp index, u16 lanes = 1) {
    return op(core::Op::Load, index.dtype().with_lanes(lanes), {index});
  }
  core::UOp store(core::UOp index, core::UOp value) {
    return op(core::Op::Store, core::dtypes::void_, {index, value});
  }
  core::UOp range(i64 id, core::UOp size) {
    return list(arena.make(core::Op::Range, size.dtype(), {size},
                           {id, static_cast<i64>(core::AxisType::Loop)}));
  }
  core::UOp end(core::UOp effect, core::UOp range) {
    return op(core::Op::End, core::dtypes::void_, {effect, range});
  }

  core::Arena arena;
  LinearProgram program;
};

// A renderer with its compiler.
struct CpuTarget {
  std::string name;
  std::unique_ptr<Renderer> renderer;
  std::unique_ptr<Compiler> compiler;
  std::string missing;
};
inline constexpr const char* kAvx2 = "LLVM_AVX2";  // for CPUs whose masked stores are slow
// "LLVM", "CLANG", kAvx2, or without vectors "CUDA" (cuda_on_host.h) and those of nv_emulated.h.
// Without a compiler: its error is in `missing`.
const CpuTarget& cpu_target(const std::string& name);

struct RunningKernel {
  core::LoadedCode code;
  std::shared_ptr<const NvKernel> emulated;
  void operator()(std::vector<void*> args, std::vector<i64> variables = {}, i64 thread = 0) const {
    if (emulated) return emulated->run(args, variables);
    reinterpret_cast<CpuKernel>(code.entry)(args.data(), variables.data(), thread);
  }
};
// Compiles and loads; an error fails the test with its words.
RunningKernel compile_for(const CpuTarget& target, const LinearProgram& program);

// Tests that run once per target.
class CpuRenderTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const std::string& missing = cpu_target(GetParam()).missing;
    if (!missing.empty()) GTEST_SKIP() << missing;
  }
  RunningKernel compile(const ProgramBuilder& b) {
    return compile_for(cpu_target(GetParam()), b.program);
  }
  // Of vectors: those of them that the target has.
  std::vector<u16> lengths(std::initializer_list<u16> all) const {
    if (GetParam() == "CUDA" || is_nv_target(GetParam())) return {1};
    return all;
  }
};

}  // namespace doorbell::codegen::testing

// LLVM where the build has it, and CLANG.
#define INSTANTIATE_CPU_TARGETS(suite)                                                       \
  INSTANTIATE_TEST_SUITE_P(Targets, suite,                                                   \
                           ::testing::ValuesIn(::doorbell::codegen::testing::cpu_targets()), \
                           [](const auto& info) { return info.param; })

// These, CUDA C++ on the host, and code of NVIDIA's compilers on the interpreter.
#define INSTANTIATE_SCALAR_TARGETS(suite)                                                       \
  INSTANTIATE_TEST_SUITE_P(Targets, suite,                                                      \
                           ::testing::ValuesIn(::doorbell::codegen::testing::scalar_targets()), \
                           [](const auto& info) { return info.param; })

namespace doorbell::codegen::testing {
std::vector<std::string> cpu_targets();
std::vector<std::string> scalar_targets();
}  // namespace doorbell::codegen::testing
