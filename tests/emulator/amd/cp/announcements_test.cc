// What a doorbell has announced and the host changes before the processor comes to it: arguments
// and indirect buffers, found in adversarial mode; and who may change them. Words by hand as in
// posted_writes_test.cc; AQL's case is in aql_test.cc.
#include "emulator/amd/cp/announcements.h"

#include "tests/emulator/amd/cp/test_kernel.h"

namespace doorbell::emu::amdgpu {
namespace {

std::vector<u32> operator+(std::vector<u32> a, const std::vector<u32>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// WRITE_DATA with its confirmation; WAIT_REG_MEM until a word is at least `value`; NOP.
std::vector<u32> write_data(u64 va, u32 value) {
  return {0xc0033700, 5 << 8 | 1 << 20, lo(va), hi(va), value};
}
std::vector<u32> wait(u64 va, u32 value) {
  return {0xc0053c00, 5 | 1 << 4, lo(va), hi(va), value, ~u32{0}, 4};
}
std::vector<u32> call(u64 va, usize words) {
  return {0xc0023f00, lo(va), hi(va), static_cast<u32>(words) | 1 << 23};
}

class AnnouncementsTest : public KernelTestGpu {
 protected:
  static constexpr u64 kFlag = kData + 64;

  void open_adversarial(bool adversarial = true) {
    poke<u32>(kArguments + 12, 0);
    poke<u32>(kFlag, 0);
    // A queue that loses its slot now and then is another test's.
    open_with_kernel({.adversarial = adversarial, .seed = 3}, Level::Error);
  }
  void run_to(u64 word) {
    for (int turn = 0; turn < 5000 && peek<u32>(kReadPointer) < word; ++turn) gpu_->run_once();
    ASSERT_GE(peek<u32>(kReadPointer), word);
  }
};

TEST_F(AnnouncementsTest, ArgumentsStayFromTheDoorbellOn) {
  for (u64 changed : {kArguments + 12, kArguments + 16})
    for (bool adversarial : {false, true}) {
      open_adversarial(adversarial);
      write_and_ring(dispatch());
      poke<u32>(changed, 1);
      gpu_->run_until_idle();
      const bool broken = adversarial && changed < kArguments + 16;
      EXPECT_EQ(count("AMD-ARG-003"), broken ? 1u : 0u);
      EXPECT_EQ(launcher_.dispatches.empty(), broken);
      launcher_.dispatches.clear();
      EXPECT_EQ(stopped().find("byte 12 was 0x00 at the doorbell") != std::string::npos, broken)
          << stopped();
      interrupts_.exceptions.clear();
    }
}

TEST_F(AnnouncementsTest, EachDispatchHasItsOwn) {
  open_adversarial();
  write_and_ring(dispatch());
  // Announced again with other arguments at the same place, before the first has run.
  poke<u32>(kArguments + 12, 1);
  write_and_ring(dispatch());
  gpu_->run_until_idle();
  EXPECT_EQ(count("AMD-ARG-003"), 1u);

  open_adversarial();
  for (u32 round = 0; round < 8; ++round) {
    poke<u32>(kArguments + 12, round);
    write_and_ring(dispatch() + dispatch());
    gpu_->run_until_idle();
  }
  EXPECT_EQ(checks_->errors(), 0u) << stopped();
}

TEST_F(AnnouncementsTest, IndirectBuffersStayFromTheDoorbellOn) {
  for (int changed : {0, 1, 2}) {
    open_adversarial();
    put_words(kIb, std::vector<u32>{0xffff1000} + dispatch());
    write_and_ring(call(kIb, 1 + kDispatchWords));
    if (changed == 1) poke<u32>(kIb, 0xffff1002);
    if (changed == 2) poke<u32>(kArguments + 12, 1);
    gpu_->run_until_idle();
    EXPECT_EQ(count("AMD-IB-004"), changed == 1 ? 1u : 0u);
    EXPECT_EQ(count("AMD-ARG-003"), changed == 2 ? 1u : 0u);
    EXPECT_EQ(checks_->errors(), changed == 0 ? 0u : 1u);
  }
}

TEST_F(AnnouncementsTest, BehindAWaitTheHostMayWriteUntilItEndsIt) {
  for (bool holds : {false, true})
    for (bool buffer : {false, true}) {
      open_adversarial();
      put_words(kIb, dispatch());
      poke<u32>(kFlag, holds ? 1 : 0);
      write_and_ring(wait(kFlag, 1) + (buffer ? call(kIb, kDispatchWords) : dispatch()));
      if (!holds) gpu_->run_until_idle();
      poke<u32>(kArguments + 12, 1);
      poke<u32>(kFlag, 1);
      gpu_->poke();
      gpu_->run_until_idle();
      EXPECT_EQ(checks_->errors(), holds ? 1u : 0u) << buffer << stopped();
      EXPECT_EQ(launcher_.dispatches.size(), holds ? 0u : 1u);
      launcher_.dispatches.clear();
    }
}

TEST_F(AnnouncementsTest, AndNotWhenTheQueueHasPassedIt) {
  open_adversarial();
  const std::vector<u32> front = wait(kFlag, 1);
  write_and_ring(front + dispatch());
  gpu_->run_until_idle();
  poke<u32>(kFlag, 1);
  // The next packet's 5 words are read, and so is what is behind the wait.
  gpu_->poke();
  run_to(front.size() + 5);
  poke<u32>(kArguments + 12, 1);
  gpu_->run_until_idle();
  EXPECT_EQ(count("AMD-ARG-003"), 1u);
}

TEST_F(AnnouncementsTest, TheQueuesOwnWritesMayChangeThem) {
  for (bool buffer : {false, true}) {
    open_adversarial();
    put_words(kIb, std::vector<u32>{0xffff1000} + dispatch());
    write_and_ring(write_data(buffer ? kIb : kArguments + 12, buffer ? 0xc0001000 : 1) +
                   (buffer ? write_data(kIb + 4, 0xffff1000) : std::vector<u32>{}) +
                   (buffer ? std::vector<u32>{} : call(kIb, 1 + kDispatchWords)));
    gpu_->run_until_idle();
    EXPECT_EQ(checks_->errors(), 0u) << stopped();
    EXPECT_EQ(launcher_.dispatches.size(), buffer ? 0u : 1u);
    launcher_.dispatches.clear();
  }
}

TEST_F(AnnouncementsTest, APatchedBufferMayUseOtherArguments) {
  open_adversarial();
  constexpr u64 kOthers = kArguments + 64;
  put_words(kIb, dispatch());
  // The low word of the arguments' address is word 15.
  write_and_ring(write_data(kIb + 15 * 4, lo(kOthers)) + call(kIb, kDispatchWords));
  poke<u32>(kArguments + 12, 1);
  gpu_->run_until_idle();
  EXPECT_EQ(checks_->errors(), 0u) << stopped();
  ASSERT_EQ(launcher_.dispatches.size(), 1u);
  EXPECT_EQ(launcher_.dispatches[0].user_sgprs[0], lo(kOthers));
}

TEST_F(AnnouncementsTest, AKernelThatPollsIsAWait) {
  for (GridState state : {GridState::Running, GridState::Polling, GridState::Waiting}) {
    const bool polls = state != GridState::Running;
    open_adversarial();
    bool ready = !polls;
    launcher_.look = [&](usize) { return ready ? GridState::Running : state; };
    // CS_PARTIAL_FLUSH (7, index 4) between the two.
    write_and_ring(dispatch(kArguments + 64) + std::vector<u32>{0xc0004600, 7 | 4 << 8} +
                   dispatch());
    for (int turn = 0; turn < 500 && polls; ++turn) gpu_->run_once();
    poke<u32>(kArguments + 12, 1);
    ready = true;
    gpu_->poke();
    gpu_->run_until_idle();
    EXPECT_EQ(count("AMD-ARG-003"), polls ? 0u : 1u);
  }
  launcher_.look = nullptr;
}

TEST_F(AnnouncementsTest, AQueueThatStandsStillMayBeRewritten) {
  for (bool still : {false, true}) {
    open_adversarial();
    write_and_ring(dispatch());
    description_.percentage = still ? 0 : 100;
    gpu_->update_queue(queue_, description_).value();
    poke<u32>(kArguments + 12, 1);
    description_.percentage = 100;
    gpu_->update_queue(queue_, description_).value();
    gpu_->run_until_idle();
    EXPECT_EQ(count("AMD-ARG-003"), still ? 0u : 1u);
  }
}

TEST(Announcements, AreTakenOnceAndInOrder) {
  std::vector<u8> memory(64);
  Announcements notes;
  const auto note = [&](u64 at, u8 first, u64 end) {
    notes.add(1, {.va = 0x1000 + at, .host = &memory[at], .bytes = {first, 0}, .end = end});
  };
  note(0, 1, 10), note(0, 2, 20), note(8, 3, 20);
  EXPECT_EQ(notes.take(1, Announcements::Kind::Arguments, 0x1000), (std::vector<u8>{1, 0}));
  EXPECT_EQ(notes.take(2, Announcements::Kind::Arguments, 0x1000), std::nullopt);
  EXPECT_EQ(notes.take(1, Announcements::Kind::Buffer, 0x1000), std::nullopt);
  EXPECT_EQ(notes.take(1, Announcements::Kind::Arguments, 0x1000), (std::vector<u8>{2, 0}));
  notes.written(&memory[9], 1);
  EXPECT_EQ(notes.take(1, Announcements::Kind::Arguments, 0x1008), std::nullopt);
  note(8, 3, 20), notes.executed(1, 19);
  EXPECT_NE(notes.take(1, Announcements::Kind::Arguments, 0x1008), std::nullopt);
  note(8, 3, 20), notes.executed(1, 20);
  EXPECT_EQ(notes.take(1, Announcements::Kind::Arguments, 0x1008), std::nullopt);
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
