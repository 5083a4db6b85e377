// The OpenCL C of small kernels, as people see it with DEBUG=4. That a compiler takes it is also
// tested for what no device of the test machines has: f16 arithmetic.
#include "codegen/render/opencl_renderer.h"

#include <cmath>

#include "codegen/lower/lower.h"
#include "tests/codegen/render/group_kernel.h"
#include "tests/codegen/support/kernels.h"
#include "tests/support/golden.h"

namespace doorbell::codegen::testing {
namespace {

using core::DType;
using core::Op;
using core::UOp;
namespace dt = core::dtypes;

OpenClTraits usual() {
  OpenClTraits traits;
  traits.f64 = traits.fma = true;
  traits.group_items = 256;
  traits.local_bytes = 32 << 10;
  return traits;
}

std::string source_of(const ProgramBuilder& b, const OpenClTraits& traits = usual()) {
  return make_opencl_renderer(opencl_caps(traits))->render(b.program);
}

// clang's own OpenCL front end, where it comes with the language's header.
void expect_compiles(const std::string& source) {
  EXPECT_EQ(clang_refusal({"-x", "cl", "-cl-std=CL1.2", "-Xclang", "-finclude-default-header",
                           "-Xclang", "-cl-ext=+cl_khr_fp16,+cl_khr_fp64"},
                          source),
            "");
}

// out[i] = max(sum over j < n of in[i, j], 0), four rows at a time, by vloads.
void fill_reduction(ProgramBuilder& b) {
  DType v = dt::f32.with_lanes(4);
  i64 name = core::intern_name("n");
  b.program.variables = {name};
  UOp out = b.param(dt::f32, 64, true), in = b.param(dt::f32, 640);
  UOp n = b.op(Op::Variable, dt::i64, {}, {name, 1, 10});
  UOp i = b.range(0, b.number(8));
  UOp at = b.op(Op::Mul, dt::i64, {i, b.number(4)});
  UOp reg = b.op(Op::DefineReg, v, {}, {0});
  UOp start = b.store(reg, b.op(Op::Splat, v, {b.real(0)}));
  UOp j = b.range(1, n);
  UOp row = b.op(Op::Mul, dt::i64, {j, b.number(64)});
  UOp x = b.load(b.index(in, b.op(Op::Add, dt::i64, {row, at})), 4);
  UOp before = b.op(Op::Load, v, {b.op(Op::After, v, {reg, start})});
  UOp inner = b.end(b.store(reg, b.op(Op::MulAcc, v, {x, x, before})), j);
  UOp sum = b.op(Op::Load, v, {b.op(Op::After, v, {reg, inner})});
  UOp zero = b.op(Op::Splat, v, {b.real(0)});
  b.end(b.store(b.index(out, at), b.op(Op::Max, v, {sum, zero})), i);
}

TEST(OpenClSource, ReductionOfVectors) {
  ProgramBuilder b("reduce_relu");
  fill_reduction(b);
  EXPECT_GOLDEN("tests/golden/codegen/opencl_reduction.txt", source_of(b));
  expect_compiles(source_of(b));
}

// The same kernel twice: of buffers, and with its input as an image.
TEST(OpenClSource, ReadsImages) {
  ProgramBuilder b("reduce_relu");
  fill_reduction(b);
  b.program.params[1].image = true;
  EXPECT_GOLDEN("tests/golden/codegen/opencl_images.txt", source_of(b));
  expect_compiles(source_of(b));
}

TEST(OpenClSource, GroupsShareMemory) {
  ProgramBuilder b("reverse");
  fill_reversal(b, dt::i32);
  EXPECT_GOLDEN("tests/golden/codegen/opencl_group.txt", source_of(b));
  expect_compiles(source_of(b));
}

// Ints that wrap, bytes that hold Bools, f16 from and to numbers, constants that are no numbers.
void fill_dtypes(ProgramBuilder& b) {
  UOp ints = b.param(dt::i32, 4, true), bools = b.param(dt::bool_, 4, true);
  UOp halves = b.param(dt::f16, 4, true), doubles = b.param(dt::f64, 4, true);
  DType i4 = dt::i32.with_lanes(4), b4 = dt::bool_.with_lanes(4), h4 = dt::f16.with_lanes(4);
  UOp zero = b.number(0);
  UOp x = b.load(b.index(ints, zero), 4);
  UOp less = b.op(Op::CmpLt, b4, {x, b.op(Op::Splat, i4, {b.number(3, dt::i32)})});
  UOp stored = b.store(b.index(bools, zero), less);
  UOp flags = b.load(b.index(b.op(Op::After, dt::bool_, {bools, stored}), zero), 4);
  UOp product = b.op(Op::Mul, i4, {x, x});
  b.store(b.index(ints, zero), b.op(Op::Where, i4, {flags, product, x}));
  UOp half = b.op(Op::Cast, h4, {x});
  UOp wide = b.op(Op::Cast, dt::f32.with_lanes(4), {b.load(b.index(halves, zero), 4)});
  b.store(b.index(halves, zero), b.op(Op::Where, h4, {flags, half, b.op(Op::Cast, h4, {wide})}));
  b.store(b.index(doubles, zero), b.real(-INFINITY, dt::f64));
  b.store(b.index(doubles, b.number(1)), b.real(std::nan(""), dt::f64));
  UOp count = b.op(Op::Lane, dt::i32, {x}, {2});
  UOp amount = b.op(Op::Lane, dt::i32, {x}, {1});
  UOp shifted = b.op(Op::Shl, dt::i32, {count, amount});
  b.store(b.index(ints, b.number(3)), b.op(Op::CDiv, dt::i32, {shifted, amount}));
}

TEST(OpenClSource, DtypesWithoutHalfArithmetic) {
  ProgramBuilder b("dtypes");
  fill_dtypes(b);
  EXPECT_GOLDEN("tests/golden/codegen/opencl_dtypes.txt", source_of(b));
  expect_compiles(source_of(b));
}

TEST(OpenClSource, DtypesWithHalfArithmetic) {
  OpenClTraits traits = usual();
  traits.f16 = true;
  ProgramBuilder b("dtypes");
  fill_dtypes(b);
  const DType h4 = dt::f16.with_lanes(4);
  UOp halves = b.param(dt::f16, 8, true);
  UOp x = b.load(b.index(halves, b.number(0)), 4);
  UOp scaled = b.op(Op::Mul, h4, {x, b.op(Op::Splat, h4, {b.real(1.5, dt::f16)})});
  UOp root = b.op(Op::Sqrt, h4, {b.op(Op::Max, h4, {scaled, x})});
  UOp less = b.op(Op::CmpLt, dt::bool_.with_lanes(4), {x, root});
  b.store(b.index(halves, b.number(4)), b.op(Op::Where, h4, {less, root, x}));
  EXPECT_GOLDEN("tests/golden/codegen/opencl_half.txt", source_of(b, traits));
  expect_compiles(source_of(b, traits));
}

}  // namespace
// out[i] = a[i] + 0 * b[i]: simplification leaves b unread, and it stays a parameter.
TEST(OpenClSource, ParametersThatNothingReads) {
  KernelBuilder k;
  UOp out = k.param(0, 8, dt::i32), a = k.param(1, 8, dt::i32), b = k.param(2, 8, dt::i32);
  UOp i = k.loop(8), zero = k.arena().const_int(dt::i32, 0);
  UOp sum = k.add(k.load(a, i), k.op(Op::Mul, k.load(b, i), zero));
  core::KernelAst kernel = k.store(out, i, sum, {i});
  core::Arena arena;
  const Caps caps = opencl_caps(usual());
  const LinearProgram program = lower(kernel, caps, arena);
  ASSERT_EQ(program.params.size(), 3u);
  const std::string source = make_opencl_renderer(caps)->render(program);
  EXPECT_NE(source.find("b2"), std::string::npos) << source;
  expect_compiles(source);
}

}  // namespace doorbell::codegen::testing
