// Replays on the emulated Metal, every rule judged: launches as commands of an indirect command
// buffer, which keep their order, change when nothing runs them, and take few messages.
#include <gtest/gtest.h>

#include "hcq/graph/graph.h"
#include "tests/drivers/metal_emulated/metal_device.h"

namespace doorbell::metal::testing {
namespace {

using core::Buffer;
using core::BufferView;
using core::Ref;

constexpr usize kLaunches = 100;

// Launch i + 1 reads what launch i wrote: (x * n + item), 0 1 2 3 4 5 6 7 for n = 0.
class MetalReplay : public MetalTest {
 protected:
  MetalReplay() { program_ = load_scale(*device_); }
  ~MetalReplay() override { program_.reset(); }

  std::vector<hcq::LaunchBatch::Launch> launches(usize count, const i64& n) {
    std::vector<hcq::LaunchBatch::Launch> made;
    for (usize i = 0; i < count; ++i)
      made.push_back({program_.get(), std::span(views_).subspan(i % 2 * 2, 2), {&n, 1}});
    return made;
  }
  static u32 chain(u32 x, u32 n, usize count) {
    for (usize i = 0; i < count; ++i) x = x * n + 7;
    return x;
  }

  std::unique_ptr<core::Program> program_;
  Ref<Buffer> a_ = buffer(std::vector<u32>(8, 2)), b_ = buffer(std::vector<u32>(8, 0));
  // From a to b, and back.
  BufferView views_[4] = {{b_.get(), 0}, {a_.get(), 0}, {a_.get(), 0}, {b_.get(), 0}};
};

TEST_F(MetalReplay, ABatchRunsInOrderAndTakesFewMessages) {
  Result<std::unique_ptr<hcq::LaunchBatch>> batch = device_->make_batch(kLaunches);
  ASSERT_TRUE(batch && *batch);
  const i64 n = 3;
  const auto list = launches(kLaunches, n);
  EXPECT_TRUE(*(*batch)->launch(list));
  ASSERT_TRUE(device_->finish());
  EXPECT_EQ(read<u32>(*a_)[7], chain(2, 3, kLaunches));
  const u64 before = emu::metal::runtime()->messages();
  EXPECT_TRUE(*(*batch)->launch(list));
  // A command buffer, its encoder, the references to them, the resources, and the run.
  EXPECT_LE(emu::metal::runtime()->messages() - before, 8u);
  EXPECT_TRUE(*(*batch)->launch(list));
  ASSERT_TRUE(device_->finish());
  EXPECT_EQ(read<u32>(*a_)[7], chain(2, 3, 3 * kLaunches));
  const u64 between = emu::metal::runtime()->messages();
  for (const auto& [program, buffers, variables] : list)
    ASSERT_TRUE(program->launch(buffers, variables));
  EXPECT_GE(emu::metal::runtime()->messages() - between, 5 * kLaunches);
  ASSERT_TRUE(device_->finish());
  EXPECT_EQ(read<u32>(*a_)[7], chain(2, 3, 4 * kLaunches));
}

TEST_F(MetalReplay, ABatchChangesWhenNothingRunsIt) {
  Result<std::unique_ptr<hcq::LaunchBatch>> batch = device_->make_batch(4);
  i64 n = 1;
  const auto list = launches(4, n);
  EXPECT_TRUE(*(*batch)->launch(list));
  n = 2;
  EXPECT_FALSE(*(*batch)->launch(list));
  ASSERT_TRUE(device_->finish());
  EXPECT_TRUE(*(*batch)->launch(list));
  ASSERT_TRUE(device_->finish());
  EXPECT_EQ(read<u32>(*a_)[7], chain(chain(2, 1, 4), 2, 4));
}

// Through the queue: other variables and other memory from run to run, some while the run before is
// on its way.
TEST_F(MetalReplay, GraphsTakeOtherArguments) {
  const Ref<Buffer> other = buffer(std::vector<u32>(8, 5));
  const auto address = [&](const Ref<Buffer>& of) { return device_->address_of(*of)->value; };
  hcq::Graph graph;
  const hcq::Operand in = graph.slot(), n = graph.slot();
  const u32 x = graph.memory(graph.storage(), 0, 32, in);
  const u32 y = graph.memory(graph.storage(), 0, 32, hcq::Operand(address(b_)));
  for (usize i = 0; i < 6; ++i) {
    const u32 to = i % 2 ? x : y, from = i % 2 ? y : x;
    graph.exec(device_->compute_queue(),
               {.program = program_.get(),
                .name = "scale",
                .buffers = {{to, hcq::Access::Write}, {from, hcq::Access::Read}},
                .variables = {n}});
  }
  ASSERT_TRUE(graph.bind());
  u32 of_a = 2, of_other = 5;
  for (u64 run = 0; run < 12; ++run) {
    const bool is_other = run % 3 == 2;
    const u64 values[] = {address(is_other ? other : a_), run / 4 + 1};
    ASSERT_TRUE(graph.replay(values));
    u32& expected = is_other ? of_other : of_a;
    expected = chain(expected, static_cast<u32>(run / 4 + 1), 6);
    if (run % 4 == 3) {
      ASSERT_TRUE(device_->synchronize());
    }
  }
  ASSERT_TRUE(device_->synchronize());
  EXPECT_EQ(read<u32>(*a_)[7], of_a);
  EXPECT_EQ(read<u32>(*other)[7], of_other);
}

TEST_F(MetalReplay, OffWhereItIsTurnedOff) {
  const std::unique_ptr<MetalDevice> without = open({.indirect = false});
  EXPECT_EQ(*without->make_batch(4), nullptr);
  hcq::Trace trace;
  const std::unique_ptr<MetalDevice> traced = open({.trace = &trace});
  EXPECT_EQ(*traced->make_batch(4), nullptr);
}

}  // namespace
}  // namespace doorbell::metal::testing
