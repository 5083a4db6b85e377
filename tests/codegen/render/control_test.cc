// Loops, registers, private arrays, blocks, variables and threads in compiled kernels.
#include "tests/codegen/render/cpu_kernel.h"

namespace doorbell::codegen::testing {
namespace {

using core::Op;
using core::UOp;
namespace dt = core::dtypes;

class ControlTest : public CpuRenderTest {};

TEST_P(ControlTest, LoopCopiesEveryElement) {
  ProgramBuilder b;
  UOp out = b.param(dt::f32, 5, true), in = b.param(dt::f32, 5);
  UOp i = b.range(0, b.number(5));
  UOp sum = b.op(Op::Add, dt::f32, {b.load(b.index(in, i)), b.real(0.5)});
  b.end(b.store(b.index(out, i), sum), i);
  std::vector<f32> x = {1, 2, 3, 4, 5}, y(6, -7);
  compile(b)({y.data(), x.data()});
  EXPECT_EQ(y, (std::vector<f32>{1.5, 2.5, 3.5, 4.5, 5.5, -7}));
}

TEST_P(ControlTest, RegisterAccumulatesAcrossALoop) {
  ProgramBuilder b;
  UOp out = b.param(dt::f32, 2, true), in = b.param(dt::f32, 6);
  UOp i = b.range(0, b.number(2));
  UOp reg = b.op(Op::DefineReg, dt::f32, {}, {0});
  UOp zero = b.store(reg, b.real(0));
  UOp cleared = b.op(Op::After, dt::f32, {reg, zero});
  UOp j = b.range(1, b.number(3));
  UOp at = b.op(Op::Add, dt::i64, {b.op(Op::Mul, dt::i64, {i, b.number(3)}), j});
  UOp before = b.op(Op::Load, dt::f32, {cleared});
  UOp added = b.store(reg, b.op(Op::Add, dt::f32, {before, b.load(b.index(in, at))}));
  UOp inner = b.end(added, j);
  UOp result = b.op(Op::Load, dt::f32, {b.op(Op::After, dt::f32, {reg, inner})});
  b.end(b.store(b.index(out, i), result), i);
  std::vector<f32> x = {1, 2, 3, 10, 20, 30}, y(2);
  compile(b)({y.data(), x.data()});
  EXPECT_EQ(y, (std::vector<f32>{6, 60}));
}

TEST_P(ControlTest, VectorRegisterAccumulates) {
  ProgramBuilder b;
  core::DType v4 = dt::f32.with_lanes(4);
  UOp out = b.param(dt::f32, 4, true), in = b.param(dt::f32, 12);
  UOp reg = b.op(Op::DefineReg, v4, {}, {0});
  UOp zero = b.store(reg, b.op(Op::Splat, v4, {b.real(0)}));
  UOp j = b.range(0, b.number(3));
  UOp at = b.op(Op::Mul, dt::i64, {j, b.number(4)});
  UOp x = b.load(b.index(in, at), 4);
  UOp acc = b.op(Op::Load, v4, {b.op(Op::After, v4, {reg, zero})});
  UOp added = b.store(reg, b.op(Op::MulAcc, v4, {x, x, acc}));
  UOp done = b.end(added, j);
  UOp result = b.op(Op::Load, v4, {b.op(Op::After, v4, {reg, done})});
  b.store(b.index(out, b.number(0)), result);
  std::vector<f32> data = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, y(4);
  compile(b)({y.data(), data.data()});
  EXPECT_EQ(y, (std::vector<f32>{1 + 25 + 81, 4 + 36 + 100, 9 + 49 + 121, 16 + 64 + 144}));
}

TEST_P(ControlTest, LoopOfSymbolicSizeMayRunZeroTimes) {
  ProgramBuilder b;
  UOp out = b.param(dt::i32, 4, true);
  i64 name = core::intern_name("count");
  b.program.variables = {core::intern_name("unused"), name};
  UOp n = b.op(Op::Variable, dt::i64, {}, {name, 0, 4});
  UOp i = b.range(0, n);
  b.end(b.store(b.index(out, i), b.op(Op::Cast, dt::i32, {i})), i);
  RunningKernel kernel = compile(b);
  std::vector<i32> y(4, -1);
  kernel({y.data()}, {99, 0});
  EXPECT_EQ(y, (std::vector<i32>{-1, -1, -1, -1}));
  kernel({y.data()}, {99, 3});
  EXPECT_EQ(y, (std::vector<i32>{0, 1, 2, -1}));
}

TEST_P(ControlTest, IndicesOfThirtyTwoBits) {
  ProgramBuilder b;
  UOp out = b.param(dt::i32, 6, true);
  UOp i = b.range(0, b.number(2, dt::i32)), j = b.range(1, b.number(3, dt::i32));
  UOp row = b.op(Op::Mul, dt::i32, {i, b.number(3, dt::i32)});
  UOp at = b.op(Op::Add, dt::i32, {row, j});
  UOp value = b.op(Op::Sub, dt::i32, {i, j});
  UOp inner = b.end(b.store(b.index(out, at), value), j);
  b.end(inner, i);
  std::vector<i32> y(6);
  compile(b)({y.data()});
  EXPECT_EQ(y, (std::vector<i32>{0, -1, -2, 1, 0, -1}));
}

TEST_P(ControlTest, PrivateArrayKeepsValuesBetweenLoops) {
  ProgramBuilder b;
  UOp out = b.param(dt::f32, 8, true), in = b.param(dt::f32, 8);
  UOp scratch = b.op(Op::DefinePrivate, dt::f32, {}, {0, 8});
  UOp i = b.range(0, b.number(8));
  UOp filled = b.end(b.store(b.index(scratch, i), b.load(b.index(in, i))), i);
  UOp ready = b.op(Op::After, dt::f32, {scratch, filled});
  UOp j = b.range(1, b.number(8));
  UOp back = b.op(Op::Sub, dt::i64, {b.number(7), j});
  b.end(b.store(b.index(out, j), b.load(b.index(ready, back))), j);
  std::vector<f32> x = {1, 2, 3, 4, 5, 6, 7, 8}, y(8);
  compile(b)({y.data(), x.data()});
  EXPECT_EQ(y, (std::vector<f32>{8, 7, 6, 5, 4, 3, 2, 1}));
}

TEST_P(ControlTest, GuardedBlockRunsOnlyWhereItsConditionHolds) {
  ProgramBuilder b;
  UOp out = b.param(dt::i32, 4, true);
  UOp i = b.range(0, b.number(4));
  UOp odd = b.op(Op::CmpNe, dt::bool_, {b.op(Op::And, dt::i64, {i, b.number(1)}), b.number(0)});
  UOp guard = b.op(Op::If, dt::void_, {odd});
  UOp stored = b.store(b.index(out, i), b.number(5, dt::i32));
  UOp closed = b.op(Op::EndIf, dt::void_, {guard, stored});
  b.end(closed, i);
  std::vector<i32> y(4, 1);
  compile(b)({y.data()});
  EXPECT_EQ(y, (std::vector<i32>{1, 5, 1, 5}));
}

TEST_P(ControlTest, ThreadsKnowTheirNumber) {
  ProgramBuilder b;
  b.program.threads = 3;
  UOp out = b.param(dt::i64, 3, true);
  UOp t = b.op(Op::Special, dt::i64, {}, {static_cast<i64>(core::SpecialKind::ThreadId), 0, 3});
  b.store(b.index(out, t), b.op(Op::Mul, dt::i64, {t, b.number(11)}));
  RunningKernel kernel = compile(b);
  std::vector<i64> y(3, -1);
  for (i64 thread : {2, 0, 1}) kernel({y.data()}, {}, thread);
  EXPECT_EQ(y, (std::vector<i64>{0, 11, 22}));
}

INSTANTIATE_CPU_TARGETS(ControlTest);

}  // namespace
}  // namespace doorbell::codegen::testing
