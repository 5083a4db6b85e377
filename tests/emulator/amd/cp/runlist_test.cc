// More queues than the hardware has slots for: each gets its time, whatever the others wait for.
#include "tests/emulator/amd/cp/test_gpu.h"

namespace doorbell::emu::amdgpu {
namespace {

class RunlistTest : public TestGpu {
 protected:
  struct Ring {
    QueueId id;
    u64 base, put = 0;
  };

  // TestGpu's own queue is one of them, and idle.
  void open_slots(u32 slots, u64 seed = 0) {
    open({.compute_slots = slots, .adversarial = seed != 0, .seed = seed}, QueueKind::Pm4);
    rings_.clear();
  }
  Ring& add() {
    u64 base = kBase + 0x20000 + rings_.size() * 0x2000;
    poke<u64>(base + 0x1008, 0);
    QueueDescription description = description_;
    description.ring = base;
    description.read_pointer = base + 0x1000;
    description.write_pointer = base + 0x1008;
    rings_.push_back({gpu_->add_queue(description).value(), base});
    return rings_.back();
  }
  void write(Ring& ring, const std::vector<u32>& words) {
    put_words(ring.base + ring.put * 4, words);
    ring.put += words.size();
    poke<u64>(ring.base + 0x1008, ring.put);
  }
  void submit_to(Ring& ring, const std::vector<u32>& words) {
    write(ring, words);
    gpu_->ring(ring.id, ring.put);
  }

  // WRITE_DATA 0x37 of one word; WAIT_REG_MEM 0x3c until memory equals.
  static std::vector<u32> store(u64 va, u32 value) {
    return {0xc0033700, 5 << 8 | 1 << 20, lo(va), hi(va), value};
  }
  static std::vector<u32> wait(u64 va, u32 value) {
    return {0xc0053c00, 3 | 1 << 4, lo(va), hi(va), value, ~0u, 4};
  }
  // Six that wait for a seventh, which comes last.
  void expect_waiters_end() {
    for (u32 i = 0; i < 6; ++i) {
      poke<u32>(kData + 64 + i * 4, 0);
      submit_to(add(), wait(kData, 1));
      submit_to(rings_.back(), store(kData + 64 + i * 4, i + 1));
    }
    gpu_->run_until_idle();
    EXPECT_EQ(peek<u32>(kData + 64), 0u);
    submit_to(add(), store(kData, 1));
    gpu_->run_until_idle();
    for (u32 i = 0; i < 6; ++i) EXPECT_EQ(peek<u32>(kData + 64 + i * 4), i + 1);
    EXPECT_EQ(checks_->errors(), 0u);
  }

  std::vector<Ring> rings_;
};

TEST_F(RunlistTest, MoreQueuesThanSlotsAllRun) {
  open_slots(2);
  for (u32 i = 0; i < 9; ++i) submit_to(add(), store(kData + i * 4, i + 1));
  EXPECT_TRUE(gpu_->run_until_idle());
  for (u32 i = 0; i < 9; ++i) EXPECT_EQ(peek<u32>(kData + i * 4), i + 1);
  EXPECT_FALSE(gpu_->run_until_idle());
}

TEST_F(RunlistTest, WaitersDoNotKeepTheSlots) {
  open_slots(2);
  expect_waiters_end();
}

// Each would write what the other waits for.
TEST_F(RunlistTest, TellsWhatEachQueueOfADeadlockWaitsFor) {
  open_slots(2);
  poke<u32>(kData, 0), poke<u32>(kData + 64, 7);
  for (u64 mine : {kData, kData + 64}) {
    submit_to(add(), wait(mine, 1));
    submit_to(rings_.back(), store(mine == kData ? kData + 64 : kData, 1));
  }
  gpu_->run_until_idle();
  const auto told = [&](const Ring& ring, u32 value, u64 va) {
    return fmt::format(
        "GPU 0 queue {} (PM4), ring word 0 waits until {:#x} & 0xffffffff at {:#x} "
        "is Equal 0x1",
        ring.id, value, va);
  };
  ASSERT_EQ(gpu_->waits().size(), 2u);
  EXPECT_EQ(gpu_->waits()[0].what, told(rings_[0], 0, kData));
  EXPECT_EQ(gpu_->waits()[1].what, told(rings_[1], 7, kData + 64));
  poke<u32>(kData, 1);
  gpu_->poke();
  gpu_->run_until_idle();
  EXPECT_TRUE(gpu_->waits().empty());
}

TEST_F(RunlistTest, SlicesOfAnyLengthEndToo) {
  for (u64 seed = 1; seed <= 30; ++seed) {
    open_slots(1 + static_cast<u32>(seed % 3), seed);
    poke<u32>(kData, 0);
    expect_waiters_end();
  }
}

// COMPUTE_NUM_THREAD_X to _Z (0x2e07), COMPUTE_PGM_LO and _HI (0x2e0c), RSRC1 and 2 (0x2e12);
// DISPATCH_DIRECT 0x15.
TEST_F(RunlistTest, WavesArePreemptedAndGoOn) {
  open_slots(2);
  launcher_.slices = 100;
  usize done = 0, launched_by_the_first = 0;
  launcher_.effect = [&] {
    if (done++ == 0) launched_by_the_first = launcher_.dispatches.size();
  };
  const std::vector<u32> dispatch = {0xc0037600,
                                     0x207,
                                     32,
                                     1,
                                     1,
                                     0xc0027600,
                                     0x20c,
                                     lo(kIb >> 8),
                                     hi(kIb >> 8),
                                     0xc0027600,
                                     0x212,
                                     0,
                                     0,
                                     0xc0031500,
                                     1,
                                     1,
                                     1,
                                     1 | 1 << 2 | 1 << 15};
  for (int i = 0; i < 5; ++i) submit_to(add(), dispatch);
  gpu_->run_until_idle();
  EXPECT_EQ(done, 5u);
  EXPECT_EQ(launched_by_the_first, 5u) << "nobody waited for another's end";
}

TEST_F(RunlistTest, AQueueThatGetsASlotReadsItsWritePointer) {
  open_slots(1);
  write(add(), store(kData, 1));
  gpu_->run_until_idle();
  gpu_->run_until_idle();
  EXPECT_EQ(peek<u32>(kData), 1u);
  EXPECT_EQ(checks_->errors(), 0u);
  // Its doorbell comes late, and says nothing new.
  gpu_->ring(rings_[0].id, rings_[0].put);
  gpu_->run_until_idle();
  EXPECT_EQ(checks_->errors(), 0u);
}

TEST_F(RunlistTest, WithSlotsForAllOnlyTheDoorbellCounts) {
  open_slots(2);
  write(add(), store(kData, 1));
  gpu_->run_until_idle();
  EXPECT_EQ(peek<u32>(kData), 0u);
  gpu_->ring(rings_[0].id, rings_[0].put);
  gpu_->run_until_idle();
  EXPECT_EQ(peek<u32>(kData), 1u);
}

TEST_F(RunlistTest, AStoppedQueueWantsNoSlot) {
  open_slots(1);
  submit_to(add(), {0x00001234});
  gpu_->run_until_idle();
  EXPECT_NE(stopped(), "");
  submit_to(add(), store(kData, 1));
  gpu_->run_until_idle();
  EXPECT_EQ(peek<u32>(kData), 1u);
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
