// CUDA C++ as people see it with DEBUG=4, and what it says of what C++ leaves undefined.
#include "codegen/render/cuda_renderer.h"

#include <cmath>
#include <limits>

#include "codegen/lower/lower.h"
#include "tests/codegen/render/neighbours.h"
#include "tests/codegen/support/kernels.h"
#include "tests/support/golden.h"

namespace doorbell::codegen::testing {
namespace {

using core::DType;
using core::Op;
using core::UOp;
namespace dt = core::dtypes;

Caps caps(std::string_view chip = "sm_90") { return cuda_caps(*nv::hw::find_chip(chip)); }

std::string source_of(const ProgramBuilder& b) {
  return make_cuda_renderer(caps())->render(b.program);
}

TEST(CudaSource, GroupsItemsAndArguments) {
  ProgramBuilder b("neighbours");
  fill_neighbours(b);
  EXPECT_GOLDEN("tests/golden/codegen/cuda_neighbours.txt", source_of(b));
}

// A reduction in groups, as the plan makes it for the chip.
TEST(CudaSource, ReductionOfRows) {
  core::Arena arena;
  const LinearProgram program = lower(row_reduce_kernel(Op::Add, 64, 4096), caps(), arena);
  EXPECT_GOLDEN("tests/golden/codegen/cuda_row_sums.txt",
                make_cuda_renderer(caps())->render(program));
}

TEST(CudaSource, ComputesWithScalars) {
  core::Arena arena;
  const LinearProgram program = lower(matmul_kernel(128, 128, 128), caps(), arena);
  int vectors = 0;
  for (UOp u : program.ops) {
    if (core::is_elementwise(u.op())) {
      EXPECT_EQ(u.dtype().lanes, 1) << core::name_of(u.op());
    }
    vectors += u.dtype().lanes > 1;
  }
  EXPECT_GT(vectors, 0);
}

// Every conversion, and constants that have no literal.
TEST(CudaSource, Dtypes) {
  ProgramBuilder b("dtypes");
  UOp zero = b.number(0);
  const DType all[] = {dt::bool_, dt::i8,  dt::u16,    dt::i32, dt::i64,
                       dt::f16,   dt::f64, dt::f8e4m3, dt::bf16};
  UOp x = b.load(b.index(b.param(dt::f32, 1), zero));
  for (DType t : all) {
    UOp narrow = b.op(Op::Cast, t, {x});
    b.store(b.index(b.param(t, 1, true), zero), narrow);
    b.store(b.index(b.param(dt::f32, 1, true), zero), b.op(Op::Cast, dt::f32, {narrow}));
  }
  const f64 infinity = std::numeric_limits<f64>::infinity();
  for (f64 value : {infinity, -infinity, std::nan("")}) {
    for (DType t : {dt::f32, dt::f64})
      b.store(b.index(b.param(t, 1, true), zero), b.real(value, t));
  }
  EXPECT_GOLDEN("tests/golden/codegen/cuda_dtypes.txt", source_of(b));
}

// Ints that may leave their type are computed unsigned; nothing but fma() fuses.
TEST(CudaSource, IntsWrapAndFmaIsSaid) {
  ProgramBuilder b("wraps");
  UOp zero = b.number(0);
  UOp i = b.load(b.index(b.param(dt::i32, 1), zero)),
      f = b.load(b.index(b.param(dt::f32, 1), zero));
  b.store(b.index(b.param(dt::i32, 1, true), zero), b.op(Op::Mul, dt::i32, {i, i}));
  b.store(b.index(b.param(dt::f32, 1, true), zero), b.op(Op::MulAcc, dt::f32, {f, f, f}));
  const std::string source = source_of(b);
  EXPECT_NE(source.find("((i32)((u32)v0 * (u32)v0))"), std::string::npos) << source;
  EXPECT_NE(source.find("fma(v1, v1, v1)"), std::string::npos) << source;
}

// What a table of NVIDIA's says of H100 and RTX 4090, and what the plan makes of it: [CUDA
// Programming Guide 13, 5.1, "Technical Specifications per Compute Capability"].
TEST(NvCaps, OfChips) {
  const Caps hopper = caps("sm_90"), ada = caps("sm_89");
  EXPECT_EQ(hopper.simd.waves, 16);
  EXPECT_EQ(ada.simd.waves, 12);
  EXPECT_EQ(hopper.simd.registers * hopper.simd.wave_items * hopper.simd.sharing, 65536);
  EXPECT_EQ(hopper.simd.local_bytes, 228 * 1024);
  EXPECT_EQ(ada.simd.local_bytes, 100 * 1024);
  EXPECT_EQ(hopper.max_shared_bytes, 48 * 1024);
  EXPECT_EQ(hopper.max_local_axis[2], 64);
  for (const nv::hw::Chip& chip : nv::hw::chips()) {
    EXPECT_LE(chip.shared_of_block, chip.shared) << chip.name;
    EXPECT_EQ(chip.warps % 4, 0) << chip.name;
  }
  EXPECT_EQ(nv::hw::find_chip("sm_70"), nullptr);
  // Operands are shared out evenly among the threads of a warp.
  for (const nv::hw::MatrixShape& shape : nv::hw::kMatrixShapes) {
    EXPECT_EQ(shape.rows * shape.depth % 32, 0) << shape.operand;
    EXPECT_EQ(shape.rows * shape.columns % 32, 0) << shape.operand;
  }
}

}  // namespace
}  // namespace doorbell::codegen::testing
