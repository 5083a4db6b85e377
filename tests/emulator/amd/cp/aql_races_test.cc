// What AQL packets and their arguments race with: kernels in flight, and the host.
#include "emulator/amd/all_checks.h"
#include "emulator/core/races/agent_races.h"
#include "tests/emulator/amd/cp/aql_test.h"

namespace doorbell::emu::amdgpu {
namespace {

// The kernel's ENABLE_SGPR_DISPATCH_PTR is bit 1 of the descriptor's properties; the slot is given
// back when the kernel is launched.
TEST_F(AqlTest, PacketsThatTheirKernelReadsStay) {
  for (bool reads : {false, true}) {
    open_aql();
    poke<u32>(kDescriptor + 52, 4 << 1);
    poke<u16>(kDescriptor + 56, (reads ? 1 << 1 : 0) | 1 << 3 | 1 << 10);
    launcher_.slices = 3;
    launcher_.effect = [this] { poke<u32>(kRing + 12, 9); };  // grid_size_x of the next packet
    put(dispatch(0));
    ring();
    EXPECT_EQ(count("AMD-AQL-006"), reads ? 1u : 0u);
    EXPECT_EQ(stopped(), "");  // a warning at most
  }
}

TEST_F(AqlTest, ArgumentsThatChangeInFlightAreFound) {
  open_aql({.generation = hw::Generation::Gfx10}, Level::Warn);
  launcher_.slices = 3;
  launcher_.effect = [this] { poke<u32>(kArguments + 12, 1); };  // the last of 16 bytes
  put(dispatch(0));
  ring();
  EXPECT_EQ(count("AMD-ARG-003"), 1u);
  launcher_.effect = [this] { poke<u32>(kArguments + 16, 1); };  // beyond them
  put(dispatch(0));
  ring();
  EXPECT_EQ(count("AMD-ARG-003"), 1u);
}

// From the doorbell on, too, but behind a packet that waits for a signal (type 3) or is not yet
// handed over. [HSA runtime 1.2, 2.9; hsa.h kernarg_address]
TEST_F(AqlTest, ArgumentsThatChangeBeforeTheyAreReadAreFound) {
  enum Front { Nothing, Done, Open, NotHandedOver };
  for (Front front : {Nothing, Done, Open, NotHandedOver}) {
    open_aql({.generation = hw::Generation::Gfx10, .adversarial = true, .seed = 2});
    poke<u32>(kArguments + 12, 0);
    poke<i64>(kData + 8, front == Open ? 1 : 0);
    if (front == Done || front == Open) put(barrier(3, kData, 0, 0));
    put(dispatch(0));
    const u64 last = kRing + (put_ - 1) * 64;
    const u16 header = peek<u16>(last);
    if (front == NotHandedOver) poke<u16>(last, 1);
    gpu_->ring(queue_, put_ - 1);
    poke<u32>(kArguments + 12, 1);
    poke<i64>(kData + 8, 0);
    poke<u16>(last, header);
    gpu_->poke();
    gpu_->run_until_idle();
    const bool broken = front == Nothing || front == Done;
    EXPECT_EQ(count("AMD-ARG-003"), broken ? 1u : 0u) << front;
    EXPECT_EQ(checks_->errors(), broken ? 1u : 0u) << stopped();
  }
}

// The first kernel writes what the second reads. What is between them waits, or does not.
TEST_F(AqlTest, KernelsOverlapUnlessAPacketWaits) {
  const u32 barrier_and = 3;
  const struct {
    std::vector<u32> between;
    bool barrier_bit, races;
  } kCases[] = {{{}, false, true},
                {{}, true, false},
                {barrier(barrier_and, kSignal, 0, 0), false, false},
                {barrier(barrier_and | 1 << 8, 0, 0, 0), false, false}};
  for (const auto& test : kCases) {
    AgentRaces races;
    launcher_.dispatches.clear();
    u64 found = 0;
    launcher_.look = [&](usize index) {
      const AgentAccess access = index == 0 ? AgentAccess::Write : AgentAccess::Read;
      found += launcher_.dispatches[index].task->access(host(kData), 64, access).has_value();
      return GridState::Running;
    };
    open_aql({.generation = hw::Generation::Gfx10, .races = &races});
    ASSERT_TRUE(checks_->configure("error,AMD-RACE-003=warn", all_checks()));
    poke<u64>(kSignal + 8, 1);
    put(dispatch(kSignal));
    if (!test.between.empty()) put(test.between);
    put(dispatch(0, test.barrier_bit));
    ring();
    EXPECT_EQ(launcher_.dispatches.size(), 2u);
    EXPECT_EQ(found, test.races ? 1u : 0u) << &test - kCases;
    EXPECT_EQ(checks_->reports().size(), 0u);
    gpu_.reset();
    launcher_.dispatches.clear();
  }
}

// Of gfx942, which has a grid on each XCC: they are one kernel's.
TEST_F(AqlTest, GridsOfOneDispatchAreOneAgent) {
  AgentRaces races;
  u64 found = 0;
  launcher_.look = [&](usize index) {
    found +=
        launcher_.dispatches[index].task->access(host(kData), 64, AgentAccess::Write).has_value();
    return GridState::Running;
  };
  open_aql({.generation = hw::Generation::Gfx9, .xccs = 4, .races = &races});
  put(dispatch(0));
  put(dispatch(0, true));
  ring();
  EXPECT_EQ(launcher_.dispatches.size(), 8u);
  EXPECT_EQ(found, 0u);
  gpu_.reset();
  launcher_.dispatches.clear();
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
