// Realisation with interpreted kernels: values, reuse of schedules, variables, devices, errors.
#include "tensor/engine/realize.h"

#include <atomic>
#include <bit>
#include <numeric>
#include <thread>

#include <gtest/gtest.h>

#include "core/device/counters.h"
#include "core/util/config.h"
#include "tests/tensor/engine/interpreter_device.h"

namespace doorbell::engine {
namespace {

using namespace core;

UOpRef vector(std::vector<f32> values, std::string_view on = {}) {
  const i64 shape[] = {static_cast<i64>(values.size())};
  return make_buffer_node(device(on), dtypes::f32, shape, std::as_bytes(std::span(values)));
}
UOpRef op(Op op, const UOpRef& a, const UOpRef& b) {
  return TensorGraph::make(op, a->dtype(), {*a, *b});
}
UOpRef sum(const UOpRef& a) {
  return TensorGraph::make(Op::Reduce, a->dtype(), {*a}, {static_cast<i64>(Op::Add), 1});
}
UOpRef constant(f64 value) {
  return TensorGraph::make(Op::Const, dtypes::f32, {}, {std::bit_cast<i64>(value)});
}
std::vector<f32> read(const UOpRef& node, usize count) {
  std::vector<f32> values(count);
  read_bytes(*node, std::as_writable_bytes(std::span(values)));
  return values;
}
UOpRef realize_one(UOp wanted) { return std::move(realize({&wanted, 1})[0]); }
std::vector<f32> value(const UOpRef& node, usize count) { return read(realize_one(*node), count); }
i64 made() { return counters.schedules_made; }
i64 found() { return counters.schedules_found; }

struct RealizeTest : testing::Test {
  InterpreterScope scope;
};

TEST_F(RealizeTest, ComputesAndRemembers) {
  UOpRef a = vector({1, 2, 3}), b = vector({10, 20, 30});
  UOpRef total = op(Op::Add, a, b);
  UOpRef held = realize_one(*total);
  EXPECT_TRUE(held->is(Op::Buffer));
  EXPECT_EQ(TensorGraph::realized(*total), *held);
  EXPECT_EQ(read(held, 3), (std::vector<f32>{11, 22, 33}));
  const i64 before = counters.kernels;
  EXPECT_EQ(realize_one(*total), held);
  EXPECT_EQ(counters.kernels, before);
}

TEST_F(RealizeTest, TheSameGraphOverOtherInputsIsNotScheduledAgain) {
  UOpRef a = vector({1, 2, 3}), b = vector({4, 5, 6}), c = vector({7, 8, 9});
  EXPECT_EQ(value(op(Op::Mul, a, b), 3), (std::vector<f32>{4, 10, 18}));
  const i64 made_before = made(), found_before = found();
  const int compiled = scope.compiler.compiled;
  EXPECT_EQ(value(op(Op::Mul, b, c), 3), (std::vector<f32>{28, 40, 54}));
  EXPECT_EQ(value(op(Op::Mul, c, a), 3), (std::vector<f32>{7, 16, 27}));
  EXPECT_EQ(made(), made_before);
  EXPECT_EQ(found(), found_before + 2);
  EXPECT_EQ(scope.compiler.compiled, compiled);
  // Sharing makes another graph.
  EXPECT_EQ(value(op(Op::Mul, a, a), 3), (std::vector<f32>{1, 4, 9}));
  EXPECT_EQ(made(), made_before + 1);
}

// Other threads remember plans of their own.
TEST_F(RealizeTest, AClearedCacheIsForgottenByAllThreads) {
  UOpRef a = vector({1, 2, 3}), b = vector({4, 5, 6});
  const i64 before = made();
  std::atomic<int> step = 0;
  std::thread other([&] {
    EXPECT_EQ(value(op(Op::Sub, b, a), 3), (std::vector<f32>{3, 3, 3}));
    EXPECT_EQ(value(op(Op::Sub, a, b), 3), (std::vector<f32>{-3, -3, -3}));
    EXPECT_EQ(made(), before + 1);
    step = 1;
    step.notify_one();
    step.wait(1);
    EXPECT_EQ(value(op(Op::Sub, b, a), 3), (std::vector<f32>{3, 3, 3}));
  });
  step.wait(0);
  clear_schedule_cache();
  step = 2;
  step.notify_one();
  other.join();
  EXPECT_EQ(made(), before + 2);
}

TEST_F(RealizeTest, KernelsAreCutAsTheirDeviceWantsThem) {
  for (const char* name : {"INTERPRETER", "INTERPRETER:1"}) {
    UOpRef a = vector({1, 2}, name);
    EXPECT_EQ(value(op(Op::Add, a, a), 2), (std::vector<f32>{2, 4}));
    ASSERT_NE(scope.compiler.cut_for, nullptr);
    EXPECT_EQ(scope.compiler.cut_for.load()->name(), name);
  }
}

TEST_F(RealizeTest, LeavesNothingBehind) {
  UOpRef a = vector({1, 2, 3}), b = vector({4, 5, 6});
  (void)value(op(Op::Add, a, b), 3);
  const i64 nodes = TensorGraph::live_nodes();
  const i64 bytes = device().allocator().stats().in_use;
  for (int i = 0; i < 10; ++i) (void)value(op(Op::Add, a, b), 3);
  EXPECT_EQ(TensorGraph::live_nodes(), nodes);
  EXPECT_EQ(device().allocator().stats().in_use, bytes);
}

TEST_F(RealizeTest, SeveralKernelsShareTemporaries) {
  // Mean and variance style: reductions feed broadcasts feed reductions.
  UOpRef a = vector({1, 2, 3, 6});
  UOpRef mean = op(Op::Mul, sum(a), constant(0.25));
  UOpRef centred = op(Op::Sub, a, mean);
  UOpRef squares = op(Op::Mul, centred, centred);
  UOpRef variance = op(Op::Mul, sum(squares), constant(0.25));
  UOpRef scaled = op(Op::Mul, centred, variance);
  EXPECT_EQ(value(scaled, 4), (std::vector<f32>{-7, -3.5, 0, 10.5}));
}

TEST_F(RealizeTest, WantsSeveralAtOnce) {
  UOpRef a = vector({1, 2}), b = vector({3, 5});
  UOpRef total = op(Op::Add, a, b), product = op(Op::Mul, total, total);
  const UOp wanted[] = {*product, *total, *product, *a};
  const StoredNodes held = realize(wanted);
  ASSERT_EQ(held.size(), 4u);
  EXPECT_EQ(read(held[0], 2), (std::vector<f32>{16, 49}));
  EXPECT_EQ(read(held[1], 2), (std::vector<f32>{4, 7}));
  EXPECT_EQ(read(held[2], 2), (std::vector<f32>{16, 49}));
  EXPECT_EQ(held[3], a);
}

TEST_F(RealizeTest, ReadsWhatIsRealizedAlready) {
  UOpRef a = vector({1, 2}), b = vector({3, 5});
  UOpRef total = op(Op::Add, a, b);
  UOpRef use = op(Op::Mul, total, a);
  UOpRef held = realize_one(*total);
  // Changes the stored value: only kernels that read the memory see it.
  const f32 poked[2] = {100, 200};
  ASSERT_TRUE(buffer_of(*held).copy_in(poked, 8));
  EXPECT_EQ(value(use, 2), (std::vector<f32>{100, 400}));
}

// One user has the value from before it was stored, another from after.
TEST_F(RealizeTest, AStoredValueAndItsBufferMeetInOneGraph) {
  UOpRef a = vector({1, 2}), b = vector({3, 5});
  UOpRef total = op(Op::Add, a, b);
  UOpRef before = op(Op::Mul, total, a);
  UOpRef held = realize_one(*total);
  UOpRef after = op(Op::Mul, held, b);
  UOpRef both = op(Op::Add, before, after);
  EXPECT_EQ(value(both, 2), (std::vector<f32>{16, 49}));
  UOpRef turned = op(Op::Sub, op(Op::Mul, held, a), op(Op::Add, total, b));
  EXPECT_EQ(value(turned, 2), (std::vector<f32>{-3, 2}));
}

TEST_F(RealizeTest, BoundVariablesShareASchedule) {
  UOpRef a = vector({1, 2, 3, 4, 5, 6, 7, 8});
  auto head = [&](i64 size) {
    UOpRef variable =
        TensorGraph::make(Op::Variable, dtypes::index, {}, {intern_name("realize_n"), 1, 8});
    UOpRef number = TensorGraph::make(Op::Const, dtypes::index, {}, {size});
    UOpRef bind = TensorGraph::make(Op::Bind, dtypes::index, {*variable, *number});
    return sum(TensorGraph::make(Op::Shrink, dtypes::f32, {*a, *bind}, {0, kDynamicDim}));
  };
  EXPECT_EQ(value(head(3), 1), (std::vector<f32>{6}));
  const i64 before = made();
  EXPECT_EQ(value(head(8), 1), (std::vector<f32>{36}));
  EXPECT_EQ(value(head(1), 1), (std::vector<f32>{1}));
  EXPECT_EQ(made(), before);
  UOpRef both = op(Op::Add, head(2), head(3));
  try {
    realize_one(*both);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "variable realize_n has two values in one graph");
  }
}

TEST_F(RealizeTest, UnboundVariablesAreRefused) {
  UOpRef a = vector({1, 2});
  UOpRef variable =
      TensorGraph::make(Op::Variable, dtypes::index, {}, {intern_name("realize_free"), 1, 2});
  UOpRef head = TensorGraph::make(Op::Shrink, dtypes::f32, {*a, *variable}, {0, kDynamicDim});
  UOpRef total = sum(head);
  try {
    realize_one(*total);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "variable realize_free has no value: bind it before asking for a result");
  }
}

TEST_F(RealizeTest, ConstantsGoToTheDefaultDevice) {
  UOpRef three = TensorGraph::make(Op::Expand, dtypes::f32, {*constant(3)}, {4});
  UOpRef held = realize_one(*three);
  EXPECT_EQ(device_of(*held).name(), "INTERPRETER");
  EXPECT_EQ(read(held, 4), (std::vector<f32>{3, 3, 3, 3}));
}

// Where somebody says which device, they are computed there and stay there.
TEST_F(RealizeTest, ConstantsGoWhereTheyAreWanted) {
  const std::string name = "INTERPRETER:1";
  const UOpRef three = TensorGraph::make(Op::Expand, dtypes::f32, {*constant(3)}, {4});
  const UOpRef copy = TensorGraph::make(Op::Copy, dtypes::f32, {*three}, {device(name).index()});
  const UOpRef assigned =
      TensorGraph::make(Op::Assign, dtypes::f32, {*vector({0, 0, 0, 0}, name), *three});
  const i64 before = counters.copies;
  for (const UOpRef& wanted : {copy, assigned}) {
    const UOpRef stored = TensorGraph::make(Op::Contiguous, dtypes::f32, {*wanted});
    const UOpRef held = realize_one(*stored);
    EXPECT_EQ(device_of(*held).name(), name);
    EXPECT_EQ(read(held, 4), (std::vector<f32>{3, 3, 3, 3}));
  }
  EXPECT_EQ(counters.copies, before);
}

TEST_F(RealizeTest, CopiesBetweenDevices) {
  UOpRef a = vector({1, 2}), b = vector({3, 4}, "INTERPRETER:1");
  UOpRef moved = TensorGraph::make(Op::Copy, dtypes::f32, {*op(Op::Add, a, a)},
                                   {device("INTERPRETER:1").index()});
  const i64 before = counters.copies;
  UOpRef held = realize_one(*op(Op::Mul, moved, b));
  EXPECT_EQ(device_of(*held).name(), "INTERPRETER:1");
  EXPECT_EQ(read(held, 2), (std::vector<f32>{6, 16}));
  EXPECT_EQ(counters.copies, before + 1);
}

// A constant belongs to no device until it is stored on one; others then need a copy.
TEST_F(RealizeTest, StoredConstantsAreCopiedToOtherDevices) {
  const UOpRef four = op(Op::Add, constant(3), constant(1));
  const UOpRef c = TensorGraph::make(Op::Reshape, dtypes::f32, {*four}, {1});
  EXPECT_EQ(value(c, 1), (std::vector<f32>{4}));
  const UOpRef sum = op(Op::Add, vector({1}, "INTERPRETER:1"), c);
  EXPECT_EQ(prepare(std::vector<UOp>{*sum}).copies, 1);
  EXPECT_EQ(value(sum, 1), (std::vector<f32>{5}));
  EXPECT_EQ(buffer_of(*sum).device().name(), "INTERPRETER:1");
}

TEST_F(RealizeTest, ConstantsAreStoredOnTheDeviceOfTheirPlace) {
  const UOpRef place = vector({0}, "INTERPRETER:1");
  const UOpRef four =
      TensorGraph::make(Op::Reshape, dtypes::f32, {*op(Op::Add, constant(3), constant(1))}, {1});
  const UOpRef stored = TensorGraph::make(Op::Assign, dtypes::f32, {*place, *four});
  EXPECT_EQ(value(stored, 1), (std::vector<f32>{4}));
  EXPECT_EQ(buffer_of(*stored).device().name(), "INTERPRETER:1");
}

TEST_F(RealizeTest, NullComputesNothing) {
  UOpRef a = vector({1, 2}, "NULL");
  UOpRef held = realize_one(*op(Op::Add, a, a));
  EXPECT_EQ(device_of(*held).name(), "NULL");
  EXPECT_THROW(read(held, 2), Error);
}

TEST_F(RealizeTest, AFailureLeavesTheGraphAsItWas) {
  UOpRef a = vector({1, 2}), total = op(Op::Sub, a, a);
  scope.compiler.refuse = true;
  EXPECT_THROW(realize_one(*total), Error);
  scope.compiler.refuse = false;
  EXPECT_FALSE(TensorGraph::realized(*total));
  device().allocator().flush();
  InterpreterMemory::limit = device().allocator().stats().in_use;
  try {
    realize_one(*total);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind, ErrorKind::OutOfMemory);
    EXPECT_NE(std::string(error.what()).find("INTERPRETER has no memory for 8 bytes"),
              std::string::npos)
        << error.what();
  }
  InterpreterMemory::limit = INT64_MAX;
  EXPECT_EQ(value(total, 2), (std::vector<f32>{0, 0}));
}

TEST_F(RealizeTest, WithoutTheCacheSchedulesEachTime) {
  Context context({.schedule_cache = false});
  UOpRef a = vector({1, 2});
  const i64 before = made();
  (void)value(op(Op::Add, a, a), 2);
  (void)value(op(Op::Add, a, a), 2);
  EXPECT_EQ(made(), before + 2);
}

TEST_F(RealizeTest, ManyThreadsRealizeTheSameAndOtherGraphs) {
  UOpRef a = vector({1, 2, 3}), b = vector({4, 5, 6});
  for (int round = 0; round < 20; ++round) {
    // All threads want `shared`; each also wants its own.
    UOpRef shared = op(Op::Add, a, b);
    std::vector<std::thread> threads;
    std::vector<int> wrong(4, 0);
    for (usize t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        UOpRef own = op(Op::Mul, shared, constant(static_cast<f64>(t)));
        const UOp wanted[] = {*shared, *own};
        const StoredNodes held = realize(wanted);
        const f32 factor = static_cast<f32>(t);
        if (read(held[0], 3) != std::vector<f32>{5, 7, 9}) ++wrong[t];
        if (read(held[1], 3) != std::vector<f32>{5 * factor, 7 * factor, 9 * factor}) ++wrong[t];
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, std::vector<int>(4, 0));
  }
}

TEST_F(RealizeTest, DebugTimesEachKernel) {
  Context context({.debug = 2});
  UOpRef a = vector({1, 2});
  EXPECT_EQ(value(op(Op::Add, a, a), 2), (std::vector<f32>{2, 4}));
}

}  // namespace
}  // namespace doorbell::engine
