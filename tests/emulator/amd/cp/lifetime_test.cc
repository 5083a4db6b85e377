// Work in flight when its queue is destroyed or its memory freed, and endless work. Words by hand
// as in rules_test.cc.
#include "tests/emulator/amd/cp/test_kernel.h"

namespace doorbell::emu::amdgpu {
namespace {

class LifetimeTest : public KernelTestGpu {
 protected:
  static constexpr u64 kPlain = 0x7e00'0000'0000;  // may not be executed
};

TEST_F(LifetimeTest, AQueueIsDestroyedAfterItsWaves) {
  for (bool too_early : {false, true}) {
    open_with_kernel();
    launcher_.slices = 100;
    write_and_ring(dispatch());
    for (int turn = 0; turn < 10; ++turn) gpu_->run_once();
    if (!too_early) gpu_->run_until_idle();
    EXPECT_EQ(peek<u32>(kReadPointer), 22u);  // all was read either way
    gpu_->remove_queue(queue_).value();
    EXPECT_EQ(count("AMD-QUE-008"), too_early ? 1u : 0u);
  }
}

// What ends a grid's polling may be another grid, or a packet behind it.
TEST_F(LifetimeTest, AGridThatPollsLetsOthersHaveTheirTurn) {
  for (bool adversarial : {false, true}) {
    for (GridState polls : {GridState::Polling, GridState::Waiting}) {
      open_with_kernel({.adversarial = adversarial, .hang_after = u64{1} << 26, .seed = 3});
      launcher_.dispatches.clear();
      launcher_.slices = 3;
      poke<u64>(kData, 0);
      bool second = false;
      launcher_.effect = [&] { second |= launcher_.dispatches.size() == 2; };
      // The first waits for the second, which waits for a word.
      launcher_.look = [&](usize dispatch) {
        return (dispatch == 0 ? second : peek<u32>(kData) == 7) ? GridState::Running : polls;
      };
      std::vector<u32> words = dispatch();
      for (u32 word : dispatch()) words.push_back(word);
      // WRITE_DATA (0x37), to memory, confirmed.
      words.insert(words.end(), {0xc0033700, 5 << 8 | 1 << 20, lo(kData), hi(kData), 7});
      write_and_ring(words);
      gpu_->run_until_idle();
      gpu_->remove_queue(queue_).value();
      EXPECT_TRUE(second) << adversarial;
      EXPECT_EQ(checks_->errors(), 0u) << stopped();
    }
  }
}

TEST_F(LifetimeTest, AQueueThatStandsStillMayGo) {
  open_with_kernel();
  launcher_.slices = 100;
  write_and_ring(dispatch());
  for (int turn = 0; turn < 10; ++turn) gpu_->run_once();
  description_.percentage = 0;
  gpu_->update_queue(queue_, description_).value();
  gpu_->remove_queue(queue_).value();
  EXPECT_EQ(checks_->errors(), 0u);
}

TEST_F(LifetimeTest, WhatAKernelInFlightIsKnownToUseStaysMapped) {
  struct {
    u64 va;
    bool used;
  } const kCases[] = {{kCode, true}, {kArguments, true}, {kData, false}};
  for (const auto& test : kCases)
    for (bool too_early : {false, true}) {
      open_with_kernel();
      launcher_.slices = 100;
      write_and_ring(dispatch());
      for (int turn = 0; turn < 10; ++turn) gpu_->run_once();
      if (!too_early) gpu_->run_until_idle();
      gpu_->unmapped(test.va & ~u64{4095}, (test.va & ~u64{4095}) + 4096);
      EXPECT_EQ(count("AMD-VM-006"), too_early && test.used ? 1u : 0u) << test.va;
    }
}

TEST_F(LifetimeTest, AGridThatNeverEndsHangsItsQueue) {
  for (Level level : {Level::Error, Level::Off}) {
    interrupts_.exceptions.clear();
    open_with_kernel({.hang_after = u64{1} << 20}, level);
    launcher_.slices = 1 << 30;
    write_and_ring(dispatch());
    gpu_->run_until_idle();
    EXPECT_EQ(count("AMD-LIVE-001"), level == Level::Error ? 1u : 0u);
    ASSERT_EQ(interrupts_.exceptions.size(), 1u);
    EXPECT_NE(stopped().find("1048576 wave instructions"), std::string::npos) << stopped();
  }
}

TEST_F(LifetimeTest, IndirectBuffersLieInExecutableMemory) {
  u32 buffer = space_.add_buffer({.va = kPlain, .bytes = 4096, .kind = "GTT"});
  space_
      .map(kPlain, 4096, host(kBase + 0x10000), true, false, {Place::Host, Caching::Uncached},
           buffer)
      .value();
  for (Level level : {Level::Error, Level::Warn})
    for (QueueKind kind : {QueueKind::Pm4, QueueKind::Sdma})
      for (u64 from : {kIb, kPlain}) {
        open({}, kind, level);
        bool sdma = kind == QueueKind::Sdma;
        u64 host_va = from == kIb ? kIb : kBase + 0x10000;
        poke<u32>(kData, 0);
        // WRITE_DATA, or SDMA's FENCE and NOPs to a multiple of 8 words.
        put_words(host_va, sdma
                               ? std::vector<u32>{5 | 3 << 16, lo(kData), hi(kData), 77, 0, 0, 0, 0}
                               : std::vector<u32>{0xc0033700, 5 << 8, lo(kData), hi(kData), 77});
        std::vector<u32> ring{0, 0, 4, lo(from), hi(from), 8, 0, 0};
        if (!sdma) ring = {0xc0023f00, lo(from), hi(from), 5 | 1 << 23};
        put_words(kRing, ring);
        u64 end = sdma ? 32 : 4;
        poke<u64>(kWritePointer, end);
        gpu_->ring(queue_, end);
        gpu_->run_until_idle();
        EXPECT_EQ(count("AMD-IB-008"), from == kPlain ? 1u : 0u) << stopped();
        EXPECT_EQ(peek<u32>(kData), from == kPlain && level == Level::Error ? 0u : 77u);
      }
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
