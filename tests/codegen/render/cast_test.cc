// Conversions between all dtypes, scalar and vector, against core/eval; bit patterns as literals.
#include <cmath>
#include <limits>

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

const std::vector<DType>& all_dtypes() {
  static const auto* types = new std::vector<DType>{
      dt::bool_,      dt::i8,  dt::u8,   dt::i16,    dt::u16,    dt::i32,
      dt::u32,        dt::i64, dt::u64,  dt::f8e4m3, dt::f8e5m2, dt::f8e4m3fnuz,
      dt::f8e5m2fnuz, dt::f16, dt::bf16, dt::f32,    dt::f64};
  return *types;
}

// All values of 8 bits; edges and a spread of the wider ones.
std::vector<ScalarValue> sources(DType t) {
  std::vector<ScalarValue> values;
  if (t.bytes() == 1 && !t.is_bool()) {
    for (int i = 0; i < 256; ++i) {
      u8 byte = static_cast<u8>(i);
      values.push_back(core::load_scalar(t, &byte));
    }
    return values;
  }
  if (t.is_bool()) return {ScalarValue::of_bool(true), ScalarValue::of_bool(false)};
  // clang-format off
  std::vector<f64> reals = {
    0, -0.0, 1, -1, 0.5, -0.5, 127.5, 128, -128.9, -129, 255.5, 256, 300, 32767.5, -32768.5,
    65504, 65519, 65520, 65536, 448, 463, 464, 465, 480, 57344, 61439, 61440, 240, 247, 248,
    249, 2147483520.0, 2147483648.0, -2147483648.0, -2147483904.0, 4294967040.0, 4294967296.0,
    9.2e18, 9223372036854775808.0, -9223372036854775808.0, 1.8e19, 1.9e19, 1e30, -1e30, 3.3e38,
    3.4e38, 1e300, 1e-3, 1e-7, 5.9e-8, 2.9e-8, 3e-8, 1e-40, 1e-45, 1e-300, 0.001953125,
    0.0009765625, 0.00097, 0.1, 1.0 / 3, 1.0009765625, 1.00048828125, 1.0004882813, 1.00390625,
    1.005859375};
  // clang-format on
  if (t.is_float()) {
    reals.push_back(std::numeric_limits<f64>::infinity());
    reals.push_back(-std::numeric_limits<f64>::infinity());
    reals.push_back(std::nan(""));
    for (f64 r : reals) values.push_back(ScalarValue::of_float(t, r));
    for (f64 r : reals) values.push_back(ScalarValue::of_float(t, -r * 1.0000000001));
    return values;
  }
  // clang-format off
  for (i64 v : std::initializer_list<i64>{
      0, 1, -1, 127, 128, 255, 256, -128, -129, 2049, 4097, 65519, 65520, 16777217, 33554433,
      INT32_MAX, INT32_MIN, i64{1} << 53, (i64{1} << 53) + 1, (i64{1} << 60) + 1, (i64{0x101}
      << 40) + 1, (i64{0x4040} << 48) + 1, (i64{0x1010} << 46) + 1, -((i64{0x1010} << 46) +
      1), INT64_MAX, INT64_MIN}) {
    // clang-format on
    values.push_back(ScalarValue::of_int(t, v));
  }
  return values;
}

class CastTest : public CpuRenderTest {
 protected:
  // One kernel converts every value of `from` to every dtype.
  void check(DType from, u16 lanes) {
    std::vector<ScalarValue> values = sources(from);
    while (values.size() % lanes != 0) values.push_back(values[1]);
    auto count = static_cast<i64>(values.size());
    auto size = static_cast<usize>(from.bytes());
    std::vector<u8> memory(values.size() * size);
    for (usize i = 0; i < values.size(); ++i) core::store_scalar(values[i], &memory[i * size]);

    ProgramBuilder b("cast_" + from.str() + "_" + std::to_string(lanes));
    std::vector<UOp> outs, stores;
    for (DType to : all_dtypes()) outs.push_back(b.param(to, count, true));
    UOp in = b.param(from, count);
    UOp i = b.range(0, b.number(count / lanes));
    UOp at = b.op(Op::Mul, dt::i64, {i, b.number(lanes)});
    UOp x = b.load(b.index(in, at), lanes);
    for (usize k = 0; k < outs.size(); ++k) {
      UOp value = x;
      if (all_dtypes()[k] != from) value = b.op(Op::Cast, all_dtypes()[k].with_lanes(lanes), {x});
      stores.push_back(b.store(b.index(outs[k], at), value));
    }
    b.end(b.op(Op::Group, dt::void_, stores), i);

    std::vector<std::vector<u8>> results(outs.size(), std::vector<u8>(values.size() * 8));
    std::vector<void*> args;
    for (auto& r : results) args.push_back(r.data());
    args.push_back(memory.data());
    compile(b)(args);
    for (usize k = 0; k < outs.size(); ++k) {
      DType to = all_dtypes()[k];
      for (usize n = 0; n < values.size(); ++n) {
        ScalarValue expected = core::convert(to, values[n]);
        ScalarValue got = core::load_scalar(to, &results[k][n * static_cast<usize>(to.bytes())]);
        ASSERT_TRUE(expected.identical(got))
            << from.str() << " to " << to.str() << " x" << lanes << " of "
            << (from.is_float() ? values[n].as_float() : static_cast<f64>(values[n].bits))
            << ": got " << (to.is_float() ? got.as_float() : static_cast<f64>(got.bits))
            << ", expected "
            << (to.is_float() ? expected.as_float() : static_cast<f64>(expected.bits));
      }
    }
  }
};

TEST_P(CastTest, Scalars) {
  for (DType t : all_dtypes()) check(t, 1);
}
TEST_P(CastTest, Vectors) {
  for (u16 lanes : lengths({8}))
    for (DType t : all_dtypes()) check(t, lanes);
}
TEST_P(CastTest, ThreeLanes) {
  for (u16 lanes : lengths({3}))
    for (DType t : {dt::f32, dt::f16, dt::i64, dt::bool_}) check(t, lanes);
}

TEST_P(CastTest, BitcastKeepsBits) {
  for (u16 lanes : lengths({1, 4})) {
    ProgramBuilder b;
    UOp out = b.param(dt::u32, 4, true), back = b.param(dt::f32, 4, true);
    UOp in = b.param(dt::f32, 4);
    UOp i = b.range(0, b.number(4 / lanes));
    UOp at = b.op(Op::Mul, dt::i64, {i, b.number(lanes)});
    UOp bits = b.op(Op::Bitcast, dt::u32.with_lanes(lanes), {b.load(b.index(in, at), lanes)});
    UOp one = b.number(1, dt::u32);
    if (lanes > 1) one = b.op(Op::Splat, dt::u32.with_lanes(lanes), {one});
    UOp next = b.op(Op::Add, dt::u32.with_lanes(lanes), {bits, one});
    UOp s1 = b.store(b.index(out, at), bits);
    UOp s2 = b.store(b.index(back, at), b.op(Op::Bitcast, dt::f32.with_lanes(lanes), {next}));
    b.end(b.op(Op::Group, dt::void_, {s1, s2}), i);
    std::vector<f32> x = {1.0f, -2.0f, 0.0f, 0.1f}, y(4);
    std::vector<u32> r(4);
    compile(b)({r.data(), y.data(), x.data()});
    EXPECT_EQ(r, (std::vector<u32>{0x3f800000, 0xc0000000, 0, 0x3dcccccd}));
    EXPECT_EQ(y, (std::vector<f32>{0x1.000002p0f, -0x1.000002p1f, 0x1p-149f, 0x1.99999cp-4f}));
  }
}

TEST_P(CastTest, NarrowFloatsKeepTheirBitsWhenOnlyMoved) {
  ProgramBuilder b;
  UOp out = b.param(dt::bf16, 3, true), in = b.param(dt::u16, 2);
  UOp moved = b.op(Op::Bitcast, dt::bf16, {b.load(b.index(in, b.number(0)))});
  b.store(b.index(out, b.number(0)), moved);
  b.store(b.index(out, b.number(1)), b.real(1.0, dt::bf16));
  b.store(b.index(out, b.number(2)), b.real(-2.5, dt::bf16));
  std::vector<u16> x = {0x7fab, 0}, y(3);
  compile(b)({y.data(), x.data()});
  EXPECT_EQ(y, (std::vector<u16>{0x7fab, 0x3f80, 0xc020}));
}

INSTANTIATE_SCALAR_TARGETS(CastTest);

}  // namespace
}  // namespace doorbell::codegen::testing
