// The C source of small kernels, as people see it with DEBUG=4.
#include "codegen/render/clang_renderer.h"

#include "codegen/render/cpu_caps.h"
#include "tests/codegen/render/cpu_kernel.h"
#include "tests/support/golden.h"

namespace doorbell::codegen::testing {
namespace {

using core::DType;
using core::Op;
using core::UOp;
namespace dt = core::dtypes;

std::string source_of(const ProgramBuilder& b) {
  return make_clang_renderer(cpu_caps())->render(b.program);
}

// out[i] = max(sum over j < n of in[i, j], 0), a vector of rows at a time.
TEST(ClangSource, ReductionOfVectors) {
  ProgramBuilder b("reduce_relu");
  DType v = dt::f32.with_lanes(8);
  i64 name = core::intern_name("n");
  b.program.variables = {name};
  UOp out = b.param(dt::f32, 64, true), in = b.param(dt::f32, 640);
  UOp n = b.op(Op::Variable, dt::i64, {}, {name, 1, 10});
  UOp i = b.range(0, b.number(8));
  UOp at = b.op(Op::Mul, dt::i64, {i, b.number(8)});
  UOp reg = b.op(Op::DefineReg, v, {}, {0});
  UOp zero = b.op(Op::Splat, v, {b.real(0)});
  UOp start = b.store(reg, zero);
  UOp j = b.range(1, n);
  UOp row = b.op(Op::Mul, dt::i64, {j, b.number(64)});
  UOp x = b.load(b.index(in, b.op(Op::Add, dt::i64, {row, at})), 8);
  UOp before = b.op(Op::Load, v, {b.op(Op::After, v, {reg, start})});
  UOp inner = b.end(b.store(reg, b.op(Op::Add, v, {before, x})), j);
  UOp sum = b.op(Op::Load, v, {b.op(Op::After, v, {reg, inner})});
  b.end(b.store(b.index(out, at), b.op(Op::Max, v, {sum, zero})), i);
  EXPECT_GOLDEN("tests/golden/codegen/clang_reduction.txt", source_of(b));
}

// out[i] = (f8e4m3) (i < 3 ? in[i] : 1)
TEST(ClangSource, GateAndNarrowFloat) {
  ProgramBuilder b("gate_f8");
  UOp out = b.param(dt::f8e4m3, 4, true), in = b.param(dt::bf16, 3);
  UOp i = b.range(0, b.number(4));
  UOp inside = b.op(Op::CmpLt, dt::bool_, {i, b.number(3)});
  UOp x = b.op(Op::Load, dt::bf16, {b.gated(in, i, inside), b.real(1, dt::bf16)});
  b.end(b.store(b.index(out, i), b.op(Op::Cast, dt::f8e4m3, {x})), i);
  EXPECT_GOLDEN("tests/golden/codegen/clang_gate.txt", source_of(b));
}

}  // namespace
}  // namespace doorbell::codegen::testing
