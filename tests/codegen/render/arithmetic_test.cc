// Every elementwise op of every dtype, scalar and vector, against core/eval on edge values.
#include <cmath>
#include <limits>

#include "codegen/render/cpu_caps.h"
#include "core/eval/eval.h"
#include "tests/codegen/render/cpu_kernel.h"

namespace doorbell::codegen::testing {
namespace {

using core::DType;
using core::Op;
using core::Scalar;
using core::ScalarValue;
using core::UOp;
namespace dt = core::dtypes;

// Interesting values of a dtype.
std::vector<ScalarValue> edge_values(DType t) {
  std::vector<ScalarValue> values;
  if (t.is_bool()) return {ScalarValue::of_bool(false), ScalarValue::of_bool(true)};
  if (t.is_float()) {
    constexpr f64 kInf = std::numeric_limits<f64>::infinity();
    for (f64 v : {0.0, -0.0, 1.0, -1.5, 2.0, 3.25, -7.0, 1e-40, 3e38, -3e38, kInf, -kInf,
                  std::nan(""), 0.1, 1e10, 12345.678}) {
      values.push_back(ScalarValue::of_float(t, v));
    }
    return values;
  }
  i64 high = t.bits() == 64 ? INT64_MAX : (i64{1} << (t.bits() - 1)) - 1;
  for (i64 v : {i64{0}, i64{1}, i64{-1}, i64{2}, i64{3}, i64{-5}, i64{7}, i64{8}, i64{31}, i64{64},
                high, -high - 1, high - 1, i64{100}}) {
    values.push_back(ScalarValue::of_int(t, v));
  }
  return values;
}

struct Case {
  Op op;
  int operands;
};
constexpr Case kIntCases[] = {
    {Op::Neg, 1},  {Op::Trunc, 1}, {Op::Add, 2},   {Op::Sub, 2},   {Op::Mul, 2},   {Op::CDiv, 2},
    {Op::CMod, 2}, {Op::Max, 2},   {Op::CmpLt, 2}, {Op::CmpEq, 2}, {Op::CmpNe, 2}, {Op::And, 2},
    {Op::Or, 2},   {Op::Xor, 2},   {Op::Shl, 2},   {Op::Shr, 2},   {Op::Where, 3}, {Op::MulAcc, 3}};
constexpr Case kBoolCases[] = {{Op::Neg, 1},   {Op::Add, 2},   {Op::Sub, 2},   {Op::Mul, 2},
                               {Op::Max, 2},   {Op::CmpLt, 2}, {Op::CmpEq, 2}, {Op::CmpNe, 2},
                               {Op::And, 2},   {Op::Or, 2},    {Op::Xor, 2},   {Op::Where, 3},
                               {Op::MulAcc, 3}};
constexpr Case kFloatCases[] = {{Op::Neg, 1},  {Op::Sqrt, 1},  {Op::Recip, 1}, {Op::Trunc, 1},
                                {Op::Add, 2},  {Op::Sub, 2},   {Op::Mul, 2},   {Op::FDiv, 2},
                                {Op::Max, 2},  {Op::CmpLt, 2}, {Op::CmpEq, 2}, {Op::CmpNe, 2},
                                {Op::Where, 3}};

std::span<const Case> cases_of(DType t) {
  if (t.is_bool()) return kBoolCases;
  return t.is_float() ? std::span<const Case>(kFloatCases) : std::span<const Case>(kIntCases);
}

struct Operands {
  std::vector<u8> x, y, c;  // as in memory; `c` is the Bool of Where
  std::vector<ScalarValue> xs, ys, cs;
};

// All pairs of edge values, padded to a multiple of `lanes`.
Operands make_operands(DType t, u16 lanes) {
  Operands o;
  for (ScalarValue a : edge_values(t)) {
    for (ScalarValue b : edge_values(t)) {
      o.xs.push_back(a);
      o.ys.push_back(b);
    }
  }
  while (o.xs.size() % lanes != 0) {
    o.xs.push_back(o.xs[0]);
    o.ys.push_back(o.ys[1]);
  }
  auto size = static_cast<usize>(t.bytes());
  o.x.resize(o.xs.size() * size);
  o.y.resize(o.xs.size() * size);
  for (usize i = 0; i < o.xs.size(); ++i) {
    core::store_scalar(o.xs[i], &o.x[i * size]);
    core::store_scalar(o.ys[i], &o.y[i * size]);
    o.cs.push_back(ScalarValue::of_bool(i % 3 == 0));
    o.c.push_back(i % 3 == 0);
  }
  return o;
}

class ArithmeticTest : public CpuRenderTest {
 protected:
  // One kernel that applies every op to all pairs and stores each result in a Param of its own.
  void check(DType t, u16 lanes) {
    Operands o = make_operands(t, lanes);
    auto count = static_cast<i64>(o.xs.size());
    ProgramBuilder b("ops_" + t.str() + "_" + std::to_string(lanes));
    std::span<const Case> cases = cases_of(t);
    std::vector<UOp> outs;
    for (const Case& c : cases) {
      outs.push_back(b.param(core::is_comparison(c.op) ? dt::bool_ : t, count, true));
    }
    UOp x = b.param(t, count), y = b.param(t, count), c = b.param(dt::bool_, count);
    UOp i = b.range(0, b.number(count / lanes));
    UOp at = b.op(Op::Mul, dt::i64, {i, b.number(lanes)});
    UOp xv = b.load(b.index(x, at), lanes), yv = b.load(b.index(y, at), lanes);
    UOp cv = b.load(b.index(c, at), lanes);
    std::vector<UOp> stores;
    for (usize k = 0; k < cases.size(); ++k) {
      DType result = core::is_comparison(cases[k].op) ? dt::bool_ : t;
      result = result.with_lanes(lanes);
      UOp value;
      if (cases[k].op == Op::Where)
        value = b.op(Op::Where, result, {cv, xv, yv});
      else if (cases[k].operands == 3)
        value = b.op(cases[k].op, result, {xv, yv, xv});
      else if (cases[k].operands == 2)
        value = b.op(cases[k].op, result, {xv, yv});
      else
        value = b.op(cases[k].op, result, {xv});
      stores.push_back(b.store(b.index(outs[k], at), value));
    }
    b.end(b.op(Op::Group, dt::void_, stores), i);
    run(b, o, cases, t);
  }

  void run(const ProgramBuilder& b, Operands& o, std::span<const Case> cases, DType t) {
    std::vector<std::vector<u8>> results(cases.size(), std::vector<u8>(o.xs.size() * 8));
    std::vector<void*> args;
    for (auto& r : results) args.push_back(r.data());
    for (auto* v : {&o.x, &o.y, &o.c}) args.push_back(v->data());
    compile(b)(args);
    for (usize k = 0; k < cases.size(); ++k) {
      DType result = core::is_comparison(cases[k].op) ? dt::bool_ : t;
      for (usize i = 0; i < o.xs.size(); ++i) {
        std::vector<ScalarValue> operands = {o.xs[i], o.ys[i], o.xs[i]};
        if (cases[k].op == Op::Where) operands = {o.cs[i], o.xs[i], o.ys[i]};
        operands.resize(static_cast<usize>(cases[k].operands));
        ScalarValue expected = *core::eval(cases[k].op, result, operands);
        auto size = static_cast<usize>(result.bytes());
        ScalarValue got = core::load_scalar(result, &results[k][i * size]);
        ASSERT_TRUE(expected.identical(got))
            << core::name_of(cases[k].op) << " " << b.program.name << " of "
            << (t.is_float() ? std::to_string(o.xs[i].as_float()) : std::to_string(o.xs[i].bits))
            << " and "
            << (t.is_float() ? std::to_string(o.ys[i].as_float()) : std::to_string(o.ys[i].bits))
            << ": got "
            << (got.is_float() ? std::to_string(got.as_float()) : std::to_string(got.bits))
            << ", expected "
            << (got.is_float() ? std::to_string(expected.as_float())
                               : std::to_string(expected.bits));
      }
    }
  }
};

TEST_P(ArithmeticTest, Bool) {
  for (u16 lanes : lengths({1, 4})) check(dt::bool_, lanes);
}
TEST_P(ArithmeticTest, Bytes) {
  for (u16 lanes : lengths({1, 16})) check(dt::i8, lanes), check(dt::u8, lanes);
}
TEST_P(ArithmeticTest, Shorts) {
  for (u16 lanes : lengths({1, 8})) check(dt::i16, lanes), check(dt::u16, lanes);
}
TEST_P(ArithmeticTest, Ints) {
  for (u16 lanes : lengths({1, 16})) check(dt::i32, lanes), check(dt::u32, lanes);
}
TEST_P(ArithmeticTest, Longs) {
  for (u16 lanes : lengths({1, 8})) check(dt::i64, lanes), check(dt::u64, lanes);
}
TEST_P(ArithmeticTest, Floats) {
  for (u16 lanes : lengths({1, 16})) check(dt::f32, lanes);
}
TEST_P(ArithmeticTest, Doubles) {
  for (u16 lanes : lengths({1, 8})) check(dt::f64, lanes);
}
TEST_P(ArithmeticTest, LanesThatArePowersOfNothing) {
  if (lengths({3})[0] == 3) check(dt::f32, 3), check(dt::i32, 5);
}

// A fused and an unfused product differ in the last bit; both are right.
TEST_P(ArithmeticTest, MulAccOfFloats) {
  for (u16 lanes : lengths({1, 4})) {
    ProgramBuilder b;
    DType v = dt::f32.with_lanes(lanes);
    UOp out = b.param(dt::f32, 4, true), x = b.param(dt::f32, 4), y = b.param(dt::f32, 4),
        z = b.param(dt::f32, 4);
    UOp i = b.range(0, b.number(4 / lanes));
    UOp at = b.op(Op::Mul, dt::i64, {i, b.number(lanes)});
    UOp value = b.op(Op::MulAcc, v,
                     {b.load(b.index(x, at), lanes), b.load(b.index(y, at), lanes),
                      b.load(b.index(z, at), lanes)});
    b.end(b.store(b.index(out, at), value), i);
    std::vector<f32> xs = {2, 0.1f, 1 + 1e-7f, -3}, ys = {3, 0.2f, 1 - 1e-7f, 0.5f},
                     zs = {4, 0.3f, -1, 1.5f}, r(4);
    compile(b)({r.data(), xs.data(), ys.data(), zs.data()});
    for (usize k = 0; k < 4; ++k) {
      f32 fused = std::fma(xs[k], ys[k], zs[k]);
      volatile f32 product = xs[k] * ys[k];
      EXPECT_TRUE(r[k] == fused || r[k] == product + zs[k]) << r[k] << " against " << fused;
    }
  }
}

TEST_P(ArithmeticTest, ShiftAmountsOfAnotherType) {
  ProgramBuilder b;
  UOp left = b.param(dt::u64, 4, true), right = b.param(dt::i8, 4, true);
  UOp x = b.param(dt::u64, 4), y = b.param(dt::i8, 4), n = b.param(dt::i32, 4);
  UOp i = b.range(0, b.number(4));
  UOp amount = b.load(b.index(n, i));
  UOp s1 = b.store(b.index(left, i), b.op(Op::Shl, dt::u64, {b.load(b.index(x, i)), amount}));
  UOp s2 = b.store(b.index(right, i), b.op(Op::Shr, dt::i8, {b.load(b.index(y, i)), amount}));
  b.end(b.op(Op::Group, dt::void_, {s1, s2}), i);
  std::vector<u64> xs = {1, 1, 3, 5}, l(4);
  std::vector<i8> ys = {-128, -128, 64, 64}, r(4);
  std::vector<i32> ns = {63, 64, 256, -1};
  compile(b)({l.data(), r.data(), xs.data(), ys.data(), ns.data()});
  EXPECT_EQ(l, (std::vector<u64>{u64{1} << 63, 0, 0, 0}));
  EXPECT_EQ(r, (std::vector<i8>{-1, -1, 0, 0}));
}

INSTANTIATE_SCALAR_TARGETS(ArithmeticTest);

}  // namespace
}  // namespace doorbell::codegen::testing
