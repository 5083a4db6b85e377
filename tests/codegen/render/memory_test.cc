// Gated and vector accesses, Bool memory, and vectors built from and taken to lanes.
#include <sys/mman.h>
#include <unistd.h>

#include "tests/codegen/render/cpu_kernel.h"

namespace doorbell::codegen::testing {
namespace {

using core::DType;
using core::Op;
using core::UOp;
namespace dt = core::dtypes;

// An array that ends where unreadable memory begins.
template <class T>
class Guarded {
 public:
  explicit Guarded(std::vector<T> values) : count_(values.size()) {
    auto page = static_cast<usize>(sysconf(_SC_PAGESIZE));
    base_ = static_cast<u8*>(
        mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(base_ + page, page, PROT_NONE);
    data_ = reinterpret_cast<T*>(base_ + page) - count_;
    std::copy(values.begin(), values.end(), data_);
  }
  ~Guarded() { munmap(base_, 2 * static_cast<usize>(sysconf(_SC_PAGESIZE))); }
  void* data() { return data_; }
  std::vector<T> values() const { return {data_, data_ + count_}; }

 private:
  usize count_;
  u8* base_;
  T* data_;
};

class MemoryTest : public CpuRenderTest {};

TEST_P(MemoryTest, GatedScalarsNeitherReadNorWriteOutside) {
  ProgramBuilder b;
  UOp out = b.param(dt::f32, 3, true), in = b.param(dt::f32, 3);
  UOp i = b.range(0, b.number(8));
  UOp inside = b.op(Op::CmpLt, dt::bool_, {i, b.number(3)});
  UOp far = b.op(Op::Mul, dt::i64, {i, b.number(1)});
  UOp value = b.op(Op::Load, dt::f32, {b.gated(in, far, inside), b.real(9)});
  UOp sum = b.op(Op::Add, dt::f32, {value, b.real(1)});
  b.end(b.store(b.gated(out, far, inside), sum), i);
  Guarded<f32> x({1, 2, 3}), y({0, 0, 0});
  compile(b)({y.data(), x.data()});
  EXPECT_EQ(y.values(), (std::vector<f32>{2, 3, 4}));
}

TEST_P(MemoryTest, MaskedScalarTakesTheOtherValue) {
  ProgramBuilder b;
  UOp out = b.param(dt::u8, 4, true), in = b.param(dt::u8, 2);
  UOp i = b.range(0, b.number(4));
  UOp inside = b.op(Op::CmpLt, dt::bool_, {i, b.number(2)});
  UOp value = b.op(Op::Load, dt::u8, {b.gated(in, i, inside), b.number(200, dt::u8)});
  b.end(b.store(b.index(out, i), value), i);
  Guarded<u8> x({5, 6});
  std::vector<u8> y(4);
  compile(b)({y.data(), x.data()});
  EXPECT_EQ(y, (std::vector<u8>{5, 6, 200, 200}));
}

// Lanes at and beyond `limit` are masked, of a vector that straddles the end of the memory.
template <class T>
void check_masked_vector(const RunningKernel& kernel, std::vector<T> expected) {
  Guarded<T> x({1, 0, 1, 1, 0}), y({0, 0, 0, 0, 1});
  kernel({y.data(), x.data()}, {5});
  EXPECT_EQ(y.values(), expected);
}

TEST_P(MemoryTest, GatePerLane) {
  for (DType t : {dt::f32, dt::u8, dt::f64, dt::bool_, dt::i16}) {
    ProgramBuilder b("masked_" + t.str());
    DType v = t.with_lanes(8), l = dt::i64.with_lanes(8);
    i64 name = core::intern_name("limit");
    b.program.variables = {name};
    UOp out = b.param(t, 5, true), in = b.param(t, 5);
    UOp limit = b.op(Op::Variable, dt::i64, {}, {name, 0, 100});
    UOp lanes = b.op(Op::Ramp, l, {b.number(0)}, {1});
    UOp gate = b.op(Op::CmpLt, dt::bool_.with_lanes(8), {lanes, b.op(Op::Splat, l, {limit})});
    UOp other = b.op(Op::Splat, v, {b.arena.const_of(t, 1)});
    UOp x = b.op(Op::Load, v, {b.gated(in, b.number(0), gate), other});
    b.store(b.gated(out, b.number(0), gate), x);
    RunningKernel kernel = compile(b);
    if (t == dt::f32) check_masked_vector<f32>(kernel, {1, 0, 1, 1, 0});
    if (t == dt::f64) check_masked_vector<f64>(kernel, {1, 0, 1, 1, 0});
    if (t == dt::u8 || t == dt::bool_) check_masked_vector<u8>(kernel, {1, 0, 1, 1, 0});
    if (t == dt::i16) check_masked_vector<i16>(kernel, {1, 0, 1, 1, 0});
  }
}

TEST_P(MemoryTest, MaskedLanesTakeTheOtherValue) {
  ProgramBuilder b;
  DType v = dt::f32.with_lanes(4);
  UOp out = b.param(dt::f32, 4, true), in = b.param(dt::f32, 4), mask = b.param(dt::bool_, 4);
  UOp gate = b.load(b.index(mask, b.number(0)), 4);
  UOp other = b.op(Op::Vec, v, {b.real(-1), b.real(-2), b.real(-3), b.real(-4)});
  b.store(b.index(out, b.number(0)), b.op(Op::Load, v, {b.gated(in, b.number(0), gate), other}));
  std::vector<f32> x = {1, 2, 3, 4}, y(4);
  std::vector<u8> m = {1, 0, 0, 1};
  compile(b)({y.data(), x.data(), m.data()});
  EXPECT_EQ(y, (std::vector<f32>{1, -2, -3, 4}));
}

TEST_P(MemoryTest, OneGateForAVector) {
  ProgramBuilder b;
  DType v = dt::i32.with_lanes(4);
  UOp out = b.param(dt::i32, 8, true), in = b.param(dt::i32, 4);
  UOp i = b.range(0, b.number(3));
  UOp at = b.op(Op::Mul, dt::i64, {i, b.number(4)});
  UOp first = b.op(Op::CmpLt, dt::bool_, {i, b.number(1)});
  UOp two = b.op(Op::CmpLt, dt::bool_, {i, b.number(2)});
  UOp other = b.op(Op::Splat, v, {b.number(7, dt::i32)});
  UOp x = b.op(Op::Load, v, {b.gated(in, at, first), other});
  b.end(b.store(b.gated(out, at, two), x), i);
  Guarded<i32> x4({1, 2, 3, 4}), y({0, 0, 0, 0, 0, 0, 0, 0});
  compile(b)({y.data(), x4.data()});
  EXPECT_EQ(y.values(), (std::vector<i32>{1, 2, 3, 4, 7, 7, 7, 7}));
}

TEST_P(MemoryTest, SomeVectorsAreWhole) {
  ProgramBuilder b;
  DType l = dt::i64.with_lanes(8);
  UOp out = b.param(dt::f32, 21, true), in = b.param(dt::f32, 8), stored = b.param(dt::bool_, 3);
  UOp i = b.range(0, b.number(3));
  UOp at = b.op(Op::Mul, dt::i64, {i, b.number(8)});
  UOp x = b.load(b.index(in, b.number(0)), 8);
  UOp lanes = b.op(Op::Ramp, l, {at}, {1});
  UOp limit = b.op(Op::Splat, l, {b.number(21)});
  UOp inside = b.op(Op::CmpLt, dt::bool_.with_lanes(8), {lanes, limit});
  UOp all = b.op(Op::Splat, dt::bool_.with_lanes(8), {b.load(b.index(stored, i))});
  UOp gate = b.op(Op::And, dt::bool_.with_lanes(8), {inside, all});
  b.end(b.store(b.gated(out, at, gate), x), i);
  RunningKernel kernel = compile(b);
  Guarded<f32> x8({1, 2, 3, 4, 5, 6, 7, 8}), y(std::vector<f32>(21, 0));
  std::vector<u8> on = {1, 0, 1};
  kernel({y.data(), x8.data(), on.data()});
  EXPECT_EQ(y.values(),
            (std::vector<f32>{1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5}));
}

TEST_P(MemoryTest, ThreeLanesTouchThreeElements) {
  ProgramBuilder b;
  DType v = dt::f32.with_lanes(3);
  UOp out = b.param(dt::f32, 3, true), in = b.param(dt::f32, 3);
  UOp x = b.load(b.index(in, b.number(0)), 3);
  b.store(b.index(out, b.number(0)), b.op(Op::Add, v, {x, x}));
  Guarded<f32> a({1, 2, 3}), y({0, 0, 0});
  compile(b)({y.data(), a.data()});
  EXPECT_EQ(y.values(), (std::vector<f32>{2, 4, 6}));
}

TEST_P(MemoryTest, BoolsAreZeroOrOneInMemory) {
  for (u16 lanes : {1, 8}) {
    ProgramBuilder b;
    DType v = dt::f32.with_lanes(lanes), m = dt::bool_.with_lanes(lanes);
    UOp out = b.param(dt::bool_, 8, true), in = b.param(dt::f32, 8);
    UOp i = b.range(0, b.number(8 / lanes));
    UOp at = b.op(Op::Mul, dt::i64, {i, b.number(lanes)});
    UOp zero = b.real(0);
    if (lanes > 1) zero = b.op(Op::Splat, v, {zero});
    b.end(b.store(b.index(out, at), b.op(Op::CmpLt, m, {zero, b.load(b.index(in, at), lanes)})), i);
    std::vector<f32> x = {1, -1, 0, 2, 3, -4, 5, 0};
    std::vector<u8> y(8, 9);
    compile(b)({y.data(), x.data()});
    EXPECT_EQ(y, (std::vector<u8>{1, 0, 0, 1, 1, 0, 1, 0}));
  }
}

TEST_P(MemoryTest, VectorsFromLanesAndBack) {
  ProgramBuilder b;
  DType v = dt::i32.with_lanes(4);
  UOp out = b.param(dt::i32, 8, true), in = b.param(dt::i32, 4);
  UOp x = b.load(b.index(in, b.number(0)), 4);
  auto lane = [&](i64 i) { return b.op(Op::Lane, dt::i32, {x}, {i}); };
  UOp turned = b.op(Op::Vec, v, {lane(3), lane(2), lane(1), lane(0)});
  b.store(b.index(out, b.number(0)), turned);
  UOp upper = b.op(Op::Lane, dt::i32.with_lanes(2), {x}, {2});
  UOp ramp = b.op(Op::Ramp, dt::i32.with_lanes(2), {lane(0)}, {-10});
  b.store(b.index(out, b.number(4)), upper);
  b.store(b.index(out, b.number(6)), ramp);
  std::vector<i32> a = {10, 20, 30, 40}, y(8);
  compile(b)({y.data(), a.data()});
  EXPECT_EQ(y, (std::vector<i32>{40, 30, 20, 10, 30, 40, 10, 0}));
}

TEST_P(MemoryTest, BoolLanes) {
  ProgramBuilder b;
  DType m = dt::bool_.with_lanes(2);
  UOp out = b.param(dt::bool_, 4, true), in = b.param(dt::bool_, 2);
  UOp x = b.load(b.index(in, b.number(0)), 2);
  UOp first = b.op(Op::Lane, dt::bool_, {x}, {0}), second = b.op(Op::Lane, dt::bool_, {x}, {1});
  b.store(b.index(out, b.number(0)), b.op(Op::Vec, m, {second, first}));
  b.store(b.index(out, b.number(2)), b.op(Op::Splat, m, {first}));
  std::vector<u8> a = {1, 0}, y(4, 9);
  compile(b)({y.data(), a.data()});
  EXPECT_EQ(y, (std::vector<u8>{0, 1, 1, 1}));
}

INSTANTIATE_CPU_TARGETS(MemoryTest);
INSTANTIATE_TEST_SUITE_P(Level, MemoryTest, ::testing::Values(kAvx2));

}  // namespace
}  // namespace doorbell::codegen::testing
