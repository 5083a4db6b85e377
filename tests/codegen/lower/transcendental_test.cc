// Exp2, Log2, Sin and Pow against libm in more precision, over random bit patterns of the whole
// range and over their edges, with and without fused multiply-add.
#include "codegen/lower/transcendental.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "core/rules/rules.h"
#include "tests/codegen/lower/batch_eval.h"
#include "tests/codegen/lower/lower_test_support.h"

namespace doorbell::codegen {
namespace {

using core::DType;
using core::Op;
using core::UOp;
namespace dtypes = core::dtypes;

constexpr f64 kInf = std::numeric_limits<f64>::infinity();

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 4, u32, u64>;

// Distance in units in the last place of the rounded reference; subnormal spacing below.
template <class T>
f64 ulp_error(T value, long double expected) {
  T nearest = static_cast<T>(expected);
  if (std::isnan(nearest)) return std::isnan(value) ? 0 : kInf;
  if (std::isinf(nearest) || std::isinf(value)) return value == nearest ? 0 : kInf;
  T magnitude = std::fabs(nearest);
  long double unit = std::nextafter(magnitude, static_cast<T>(kInf)) - magnitude;
  return static_cast<f64>(std::fabs((static_cast<long double>(value) - expected) / unit));
}

// The graph of `op` with all that it needs taken apart.
struct Unary {
  core::Arena arena;
  UOp x, root;
};
void build(Unary* graph, Op op, DType t, bool fused) {
  Caps caps = basic_caps();
  if (!fused) remove(caps, {Op::MulAcc});
  core::Rewriter rewriter(graph->arena, core::simplify_rules());
  OpBuilder builder(rewriter, caps);
  graph->x = operand(graph->arena, t);
  graph->root = builder.make(op, t, {graph->x});
}

template <class T>
struct Sweep {
  f64 worst = 0;
  T at = 0, value = 0;
};

template <class T>
Sweep<T> sweep(Op op, const std::vector<T>& inputs, bool fused,
               const std::function<long double(T)>& reference) {
  Unary graph;
  build(&graph, op, sizeof(T) == 4 ? dtypes::f32 : dtypes::f64, fused);
  Sweep<T> result;
  constexpr usize kBlock = 4096;
  for (usize start = 0; start < inputs.size(); start += kBlock) {
    usize count = std::min(kBlock, inputs.size() - start);
    Batch batch(count);
    for (usize i = 0; i < count; ++i) batch[i] = std::bit_cast<BitsOf<T>>(inputs[start + i]);
    Batch out = batch_eval(graph.arena, graph.root, {{graph.x.id(), batch}}, fused);
    for (usize i = 0; i < count; ++i) {
      T x = inputs[start + i], y = std::bit_cast<T>(static_cast<BitsOf<T>>(out[i]));
      f64 error = ulp_error(y, reference(x));
      if (error > result.worst) result = {error, x, y};
    }
  }
  return result;
}

// Random bit patterns: every exponent, both signs, subnormals, infinities, NaNs.
template <class T>
std::vector<T> patterns(usize count, u64 seed) {
  std::mt19937_64 random(seed);
  std::vector<T> inputs = {0.0, T(-0.0), T(kInf), T(-kInf), std::numeric_limits<T>::quiet_NaN()};
  for (T x : {std::numeric_limits<T>::denorm_min(), std::numeric_limits<T>::min(),
              std::numeric_limits<T>::max(), T(1), T(2), T(0.5), T(10), T(127), T(128), T(1023),
              T(1024), T(149), T(150), T(1074), T(1075), T(126), T(1022), T(8192), T(16777216)}) {
    for (T near : {x, std::nextafter(x, T(0)), std::nextafter(x, T(kInf))}) {
      inputs.push_back(near);
      inputs.push_back(-near);
    }
  }
  while (inputs.size() < count) {
    inputs.push_back(std::bit_cast<T>(static_cast<BitsOf<T>>(random())));
  }
  return inputs;
}

template <class T>
std::vector<T> uniform(usize count, f64 low, f64 high, u64 seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<f64> distribution(low, high);
  std::vector<T> inputs;
  while (inputs.size() < count) inputs.push_back(static_cast<T>(distribution(random)));
  return inputs;
}

template <class T>
void expect_within(Op op, f64 ulps, const std::vector<T>& inputs,
                   const std::function<long double(T)>& reference) {
  for (bool fused : {false, true}) {
    Sweep<T> result = sweep<T>(op, inputs, fused, reference);
    EXPECT_LE(result.worst, ulps) << core::name_of(op) << "(" << std::hexfloat << result.at
                                  << ") = " << result.value << (fused ? " fused" : "");
  }
}

constexpr usize kCount = 200'000, kPowCount = 40'000;

// Of f32, libm's f64 functions are exact enough; of f64, the x87's long double ones.
long double exp2_of(f32 x) { return std::exp2(static_cast<f64>(x)); }
long double log2_of(f32 x) { return std::log2(static_cast<f64>(x)); }
long double sin_of(f32 x) { return std::sin(static_cast<f64>(x)); }
long double exp2_of_f64(f64 x) { return std::exp2(static_cast<long double>(x)); }
long double log2_of_f64(f64 x) { return std::log2(static_cast<long double>(x)); }
long double sin_of_f64(f64 x) { return std::sin(static_cast<long double>(x)); }

TEST(Transcendental, Exp2F32) {
  expect_within<f32>(Op::Exp2, 1.5, patterns<f32>(kCount, 1), exp2_of);
  expect_within<f32>(Op::Exp2, 1.5, uniform<f32>(kCount, -155, 130, 2), exp2_of);
}
TEST(Transcendental, Exp2F64) {
  expect_within<f64>(Op::Exp2, 1.5, patterns<f64>(kCount, 3), exp2_of_f64);
  expect_within<f64>(Op::Exp2, 1.5, uniform<f64>(kCount, -1080, 1030, 4), exp2_of_f64);
}
TEST(Transcendental, Log2F32) {
  expect_within<f32>(Op::Log2, 1.5, patterns<f32>(kCount, 5), log2_of);
  expect_within<f32>(Op::Log2, 1.5, uniform<f32>(kCount, 0.5, 2, 6), log2_of);
}
TEST(Transcendental, Log2F64) {
  expect_within<f64>(Op::Log2, 1.5, patterns<f64>(kCount, 7), log2_of_f64);
  expect_within<f64>(Op::Log2, 1.5, uniform<f64>(kCount, 0.5, 2, 8), log2_of_f64);
}
TEST(Transcendental, SinF32) {
  expect_within<f32>(Op::Sin, 2, patterns<f32>(kCount, 9), sin_of);
  expect_within<f32>(Op::Sin, 2, uniform<f32>(kCount, -10, 10, 10), sin_of);
  expect_within<f32>(Op::Sin, 2, uniform<f32>(kCount, -9000, 9000, 11), sin_of);
}
TEST(Transcendental, SinF64) {
  expect_within<f64>(Op::Sin, 2, patterns<f64>(kCount, 12), sin_of_f64);
  expect_within<f64>(Op::Sin, 2, uniform<f64>(kCount, -10, 10, 13), sin_of_f64);
  expect_within<f64>(Op::Sin, 2, uniform<f64>(kCount, -2e7, 2e7, 14), sin_of_f64);
}

usize count_ops(core::Arena& arena, UOp root) {
  usize ops = 0;
  for (UOp u : core::topological_order(arena, {&root, 1})) {
    ops += core::is_elementwise(u.op()) && !u.is(Op::Bitcast);
  }
  return ops;
}

// What a vector unit has to do per value; bitcasts are free. A limit that is passed by accident
// shows here.
TEST(Transcendental, CostsFewOperations) {
  const std::pair<Op, usize> limits[] = {
      {Op::Exp2, 19}, {Op::Log2, 28}, {Op::Sin, 72}, {Op::Pow, 119}};
  for (auto [op, limit] : limits) {
    core::Arena arena;
    core::Rewriter rewriter(arena, core::simplify_rules());
    Caps caps = basic_caps();
    OpBuilder builder(rewriter, caps);
    UOp x = operand(arena, dtypes::f32, 0), y = operand(arena, dtypes::f32, 1);
    bool binary = core::group_of(op) == core::OpGroup::Binary;
    UOp root = binary ? builder.make(op, dtypes::f32, {x, y}) : builder.make(op, dtypes::f32, {x});
    EXPECT_LE(count_ops(arena, root), limit) << core::name_of(op);
  }
}

// An angle made from 24 random bits is small: no reduction of large arguments.
TEST(Transcendental, SineOfABoundedAngleIsCheap) {
  core::Arena arena;
  core::Rewriter rewriter(arena, core::simplify_rules());
  Caps caps = basic_caps();
  OpBuilder b(rewriter, caps);
  UOp bits = operand(arena, dtypes::u32);
  UOp unit = b.mul(b.cast(b.shr(bits, 8), dtypes::f32), b.number(dtypes::f32, 0x1p-24));
  UOp angle = b.mul(unit, b.number(dtypes::f32, 6.2831853));
  UOp shifted = b.sub(b.number(dtypes::f32, 1.5707963), angle);
  UOp root = b.make(Op::Sin, dtypes::f32, {shifted});
  EXPECT_LE(count_ops(arena, root), 28u);
  // u = 0, 1/4, 1/2 and 3/4 of a turn.
  Batch turns = {0, u64{1} << 30, u64{1} << 31, u64{3} << 30};
  Batch out = batch_eval(arena, root, {{bits.id(), turns}}, false);
  const f32 cosines[] = {1, 0, -1, 0};
  for (usize i = 0; i < turns.size(); ++i) {
    EXPECT_NEAR(std::bit_cast<f32>(static_cast<u32>(out[i])), cosines[i], 1e-6) << i;
  }
}

// Pow takes two operands, so it has a sweep of its own.
template <class T>
void expect_pow_within(f64 ulps, const std::vector<T>& xs, const std::vector<T>& ys) {
  for (bool fused : {false, true}) {
    Caps caps = basic_caps();
    if (!fused) remove(caps, {Op::MulAcc});
    core::Arena arena;
    core::Rewriter rewriter(arena, core::simplify_rules());
    OpBuilder builder(rewriter, caps);
    const DType t = sizeof(T) == 4 ? dtypes::f32 : dtypes::f64;
    UOp x = operand(arena, t, 0), y = operand(arena, t, 1);
    UOp root = builder.make(Op::Pow, t, {x, y});
    Batch x_bits, y_bits;
    for (T v : xs) x_bits.push_back(std::bit_cast<BitsOf<T>>(v));
    for (T v : ys) y_bits.push_back(std::bit_cast<BitsOf<T>>(v));
    Batch out = batch_eval(arena, root, {{x.id(), x_bits}, {y.id(), y_bits}}, fused);
    f64 worst = 0;
    usize at = 0;
    for (usize i = 0; i < xs.size(); ++i) {
      T value = std::bit_cast<T>(static_cast<BitsOf<T>>(out[i]));
      long double expected = std::pow(static_cast<long double>(xs[i]), ys[i]);
      f64 error = ulp_error(value, expected);
      if (value == 0 && std::signbit(value) != std::signbit(static_cast<T>(expected))) error = kInf;
      if (error > worst) worst = error, at = i;
    }
    EXPECT_LE(worst, ulps) << std::hexfloat << "pow(" << xs[at] << ", " << ys[at] << ")"
                           << (fused ? " fused" : "");
  }
}

template <class T>
std::vector<T> all_pairs_first(const std::vector<T>& values, std::vector<T>* second) {
  std::vector<T> first;
  for (T x : values) {
    for (T y : values) {
      first.push_back(x);
      second->push_back(y);
    }
  }
  return first;
}

TEST(Transcendental, PowF32) {
  constexpr usize n = kPowCount;
  expect_pow_within<f32>(2, patterns<f32>(n, 15), patterns<f32>(n, 16));
  expect_pow_within<f32>(2, uniform<f32>(n, 0, 4, 17), uniform<f32>(n, -70, 70, 18));
  expect_pow_within<f32>(2, uniform<f32>(n, 0.9, 1.1, 19), uniform<f32>(n, -900, 900, 20));
}
TEST(Transcendental, PowF64) {
  constexpr usize n = kPowCount;
  expect_pow_within<f64>(2, patterns<f64>(n, 21), patterns<f64>(n, 22));
  expect_pow_within<f64>(2, uniform<f64>(n, 0, 4, 23), uniform<f64>(n, -500, 500, 24));
  expect_pow_within<f64>(2, uniform<f64>(n, 0.9, 1.1, 25), uniform<f64>(n, -7e3, 7e3, 26));
}
// Annex F of C17, F.10.4.4: libm implements it, and every pair of these values is tried.
TEST(Transcendental, PowOfSpecialValues) {
  const f32 inf = std::numeric_limits<f32>::infinity(), nan = std::nanf("");
  const std::vector<f32> values = {0.0f,     -0.0f,     1,        -1,     2,       -2,
                                   3,        -3,        0.5f,     -0.5f,  1.5f,    -1.5f,
                                   4,        1e30f,     -1e30f,   1e-40f, -1e-40f, 16777215,
                                   16777216, -16777215, 33554432, inf,    -inf,    nan};
  std::vector<f32> second, first = all_pairs_first(values, &second);
  expect_pow_within<f32>(2, first, second);
  std::vector<f64> wide_first(first.begin(), first.end());
  std::vector<f64> wide_second(second.begin(), second.end());
  expect_pow_within<f64>(2, wide_first, wide_second);
}

}  // namespace
}  // namespace doorbell::codegen
