// The decomposed functions as machine code: what the compilers make of multiply-add, of casts that
// saturate and of bit tricks. Accuracy over the whole range is transcendental_test's.
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "codegen/lower/op_builder.h"
#include "codegen/render/cpu_caps.h"
#include "core/rules/rules.h"
#include "tests/codegen/render/cpu_kernel.h"

namespace doorbell::codegen {
namespace {

using core::DType;
using core::Op;
using core::UOp;
namespace dtypes = core::dtypes;
using testing::ProgramBuilder;

class CompiledMathTest : public testing::CpuRenderTest {
 protected:
  // out[i] = op(x[i], y[i]) for i < count; y only of binary ops.
  void build(ProgramBuilder& b, Op op, DType t, i64 count) {
    const Caps caps = cpu_caps();
    core::Rewriter rewriter(b.arena, core::simplify_rules());
    OpBuilder builder(rewriter, caps);
    UOp range = b.arena.make(Op::Range, dtypes::i64, {b.arena.const_int(dtypes::i64, count)},
                             {0, static_cast<i64>(core::AxisType::Loop)});
    auto element = [&](i64 slot) {
      UOp memory = b.arena.make(Op::Param, t, {}, {slot, count});
      b.program.params.push_back({t, count, slot == 0});
      return b.arena.make(Op::Index, t, {memory, range});
    };
    UOp out = element(0), x = b.arena.make(Op::Load, t, {element(1)});
    std::vector<UOp> srcs = {x};
    if (core::group_of(op) == core::OpGroup::Binary) {
      srcs.push_back(b.arena.make(Op::Load, t, {element(2)}));
    }
    UOp value = builder.make(op, t, srcs);
    UOp store = b.arena.make(Op::Store, dtypes::void_, {out, value});
    UOp end = b.arena.make(Op::End, dtypes::void_, {store, range});
    b.program.ops = core::topological_order(b.arena, {&end, 1});
  }

  template <class T>
  std::vector<T> run(Op op, std::vector<T> x, std::vector<T> y = {}) {
    ProgramBuilder b;
    build(b, op, sizeof(T) == 4 ? dtypes::f32 : dtypes::f64, static_cast<i64>(x.size()));
    std::vector<T> out(x.size());
    compile(b)({out.data(), x.data(), y.data()});
    return out;
  }
};
INSTANTIATE_CPU_TARGETS(CompiledMathTest);

template <class T>
f64 ulp_error(T value, long double expected) {
  T nearest = static_cast<T>(expected);
  if (std::isnan(nearest)) return std::isnan(value) ? 0 : HUGE_VAL;
  if (std::isinf(nearest) || std::isinf(value)) return value == nearest ? 0 : HUGE_VAL;
  T size = std::fabs(nearest);
  long double unit = std::nextafter(size, std::numeric_limits<T>::infinity()) - size;
  return static_cast<f64>(std::fabs((value - expected) / unit));
}

// Half of them random bits, half of moderate size.
template <class T>
std::vector<T> arguments(usize count, u64 seed) {
  std::mt19937_64 random(seed);
  const T inf = std::numeric_limits<T>::infinity();
  std::vector<T> values = {0,
                           T(-0.0),
                           inf,
                           -inf,
                           std::numeric_limits<T>::quiet_NaN(),
                           1,
                           -1,
                           std::numeric_limits<T>::denorm_min(),
                           std::numeric_limits<T>::max()};
  while (values.size() < count) {
    u64 bits = random();
    if constexpr (sizeof(T) == 4)
      values.push_back(std::bit_cast<f32>(static_cast<u32>(bits)));
    else
      values.push_back(std::bit_cast<f64>(bits));
    values.push_back(static_cast<T>(static_cast<i64>(random())) / T(0x1p56));
  }
  return values;
}

template <class T>
long double expected(Op op, T x, T y) {
  long double wide = x;
  switch (op) {
    case Op::Exp2: return std::exp2(wide);
    case Op::Log2: return std::log2(wide);
    case Op::Sin: return std::sin(wide);
    default: return std::pow(wide, static_cast<long double>(y));
  }
}

template <class T>
void expect_within(Op op, f64 ulps, const std::vector<T>& x, const std::vector<T>& y,
                   const std::vector<T>& out) {
  for (usize i = 0; i < x.size(); ++i) {
    ASSERT_LE(ulp_error(out[i], expected(op, x[i], y[i])), ulps)
        << core::name_of(op) << std::hexfloat << " " << x[i] << " " << y[i] << " gave " << out[i];
  }
}

TEST_P(CompiledMathTest, FunctionsOfF32AndF64) {
  constexpr usize kCount = 20'000;
  const std::vector<f32> x = arguments<f32>(kCount, 1), y = arguments<f32>(kCount, 2);
  const std::vector<f64> wide_x = arguments<f64>(kCount, 3), wide_y = arguments<f64>(kCount, 4);
  for (Op op : {Op::Exp2, Op::Log2, Op::Sin, Op::Pow}) {
    expect_within(op, 2, x, y, run(op, x, y));
    expect_within(op, 2, wide_x, wide_y, run(op, wide_x, wide_y));
  }
}

}  // namespace
}  // namespace doorbell::codegen
