// Values of which only some lanes are used: the others come from constants and are masked away.
// What is computed in them (0 / 0, 1 / 0) must not show, at any width and number of used lanes.
#include <cmath>

#include "core/eval/eval.h"
#include "tests/codegen/render/cpu_kernel.h"

namespace doorbell::codegen::testing {
namespace {

using core::DType;
using core::Op;
using core::ScalarValue;
using core::UOp;
namespace dt = core::dtypes;

struct Masked {
  Op op;
  bool same;  // both operands are one value
};
constexpr Masked kFloatOps[] = {{Op::FDiv, true}, {Op::FDiv, false}, {Op::Recip, true},
                                {Op::Sqrt, true}, {Op::Mul, true},   {Op::Sub, true},
                                {Op::Max, false}, {Op::Add, false}};
constexpr Masked kIntOps[] = {{Op::CDiv, true},  {Op::CDiv, false}, {Op::CMod, true},
                              {Op::CMod, false}, {Op::Shl, false},  {Op::Xor, true}};

bool is_unary(Op op) { return op == Op::Recip || op == Op::Sqrt; }

class MaskedLanesTest : public CpuRenderTest {
 protected:
  // out[k] = c && lane < used ? op(x, y) : 0, of vectors whose lanes from `used` on are 0.
  void check(DType t, u16 lanes, u16 used) {
    std::span<const Masked> ops =
        t.is_float() ? std::span<const Masked>(kFloatOps) : std::span<const Masked>(kIntOps);
    ProgramBuilder b;
    std::vector<UOp> outs;
    for (usize k = 0; k < ops.size(); ++k) outs.push_back(b.param(t, lanes, true));
    // Each op has operands and a condition of its own: LLVM simplifies what has one use.
    const auto count = static_cast<i64>(ops.size());
    UOp x_memory = b.param(t, count * used), y_memory = b.param(t, count * used);
    UOp conditions = b.param(dt::bool_, count);
    DType vector = t.with_lanes(lanes), mask = dt::bool_.with_lanes(lanes);
    UOp zero = t.is_float() ? b.real(0, t) : b.number(0, t);
    auto part_of = [&](UOp memory, i64 k) {
      std::vector<UOp> values;
      for (i64 i = 0; i < used; ++i) {
        values.push_back(b.load(b.index(memory, b.number(k * used + i))));
      }
      values.resize(lanes, zero);
      return b.op(Op::Vec, vector, values);
    };
    std::vector<UOp> bits;
    for (u16 i = 0; i < lanes; ++i) bits.push_back(b.arena.const_int(dt::bool_, i < used));
    UOp used_lanes = b.op(Op::Vec, mask, bits), zeros = b.op(Op::Splat, vector, {zero});
    for (i64 k = 0; k < count; ++k) {
      const Masked& m = ops[static_cast<usize>(k)];
      UOp x = part_of(x_memory, k);
      UOp value = is_unary(m.op) ? b.op(m.op, vector, {x})
                                 : b.op(m.op, vector, {x, m.same ? x : part_of(y_memory, k)});
      UOp on = b.op(Op::Splat, mask, {b.load(b.index(conditions, b.number(k)))});
      UOp gate = b.op(Op::And, mask, {on, used_lanes});
      UOp result = b.op(Op::Where, vector, {gate, value, zeros});
      b.store(b.index(outs[static_cast<usize>(k)], b.number(0)), result);
    }
    run(b, ops, t, lanes, used);
  }

  void run(const ProgramBuilder& b, std::span<const Masked> ops, DType t, u16 lanes, u16 used) {
    auto size = static_cast<usize>(t.bytes());
    auto scalar = [&](i64 v) {
      return t.is_float() ? ScalarValue::of_float(t, static_cast<f64>(v) / 2)
                          : ScalarValue::of_int(t, v);
    };
    // The same numbers for each op.
    std::vector<ScalarValue> xs, ys;
    std::vector<u8> x(ops.size() * used * size), y(ops.size() * used * size), on(ops.size(), 1);
    for (usize i = 0; i < ops.size() * used; ++i) {
      xs.push_back(scalar(static_cast<i64>(i % used) * 3 + 1));
      ys.push_back(scalar(static_cast<i64>(i % used % 3) + 2));
      core::store_scalar(xs[i], &x[i * size]);
      core::store_scalar(ys[i], &y[i * size]);
    }
    std::vector<std::vector<u8>> results(ops.size(), std::vector<u8>(lanes * size, 0xcc));
    std::vector<void*> args;
    for (auto& r : results) args.push_back(r.data());
    args.insert(args.end(), {x.data(), y.data(), on.data()});
    compile(b)(args);
    for (usize k = 0; k < ops.size(); ++k) {
      for (usize i = 0; i < lanes; ++i) {
        ScalarValue expected = scalar(0);
        if (i < used) {
          std::vector<ScalarValue> operands = {xs[i], ops[k].same ? xs[i] : ys[i]};
          if (is_unary(ops[k].op)) operands.resize(1);
          expected = *core::eval(ops[k].op, t, operands);
        }
        ScalarValue got = core::load_scalar(t, &results[k][i * size]);
        EXPECT_TRUE(expected.identical(got))
            << core::name_of(ops[k].op) << (ops[k].same ? " of one value, " : ", ") << t.str()
            << ", lane " << i << " of " << lanes << ", of which " << used << " are used";
      }
    }
  }

  // Half of the lanes, which fill a register of their own, fewer and more.
  void check_widths(DType t) {
    for (u16 lanes : {2, 4, 8, 16}) {
      for (u16 used : {lanes / 4, lanes / 2, lanes - 1}) {
        if (used > 0) check(t, lanes, used);
      }
    }
  }
};

TEST_P(MaskedLanesTest, Floats) { check_widths(dt::f32); }
TEST_P(MaskedLanesTest, Doubles) { check_widths(dt::f64); }
TEST_P(MaskedLanesTest, Ints) { check_widths(dt::i32); }
TEST_P(MaskedLanesTest, Longs) { check_widths(dt::u64); }

INSTANTIATE_CPU_TARGETS(MaskedLanesTest);

}  // namespace
}  // namespace doorbell::codegen::testing
