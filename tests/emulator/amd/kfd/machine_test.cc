// A whole machine: a queue made through ioctls, packets in its ring, a doorbell, an event.
#include "emulator/amd/machine.h"

#include <atomic>
#include <cerrno>

#include "tests/emulator/amd/kfd/client.h"

namespace doorbell::emu::amdgpu::testing {

using namespace amd::hw;

namespace {

// The words of PM4 packets are the documents'. [nvd.h PACKET3(op, count - 2)]
constexpr u32 kWriteData = 0xc0033700, kReleaseMem = 0xc0064900;
constexpr u32 kToMemoryConfirmed = 5 << 8 | 1 << 20;
// CACHE_FLUSH_AND_INV_TS_EVENT at the end of the pipe; data of 64 bits, interrupt after the write.
constexpr u32 kEndOfPipe = 0x14 | 5 << 8, kData64Interrupt = 2u << 29 | 2 << 24;

class MachineTest : public ClientTest {
 protected:
  explicit MachineTest(MachineOptions options) : ClientTest(std::move(options)) {}
  void SetUp() override {
    acquire();
    page_ = allocate(0x8000);
    data_ = allocate(0x1000);
    memory_ = queue_memory();
    KfdCreateEvent event{
        .event_page_offset = page_.handle, .event_type = kKfdEventSignal, .auto_reset = 1};
    ASSERT_EQ(call(event), 0);
    event_ = event.event_id;
    ASSERT_EQ(call(memory_.arguments), 0);
    u64 place = memory_.arguments.doorbell_offset;
    doorbells_ = std::move(*kfd_->map_registers({.size = 0x2000, .offset = place & ~u64{0x1fff}}));
    doorbell_ = place & 0x1fff;
  }

  void submit(const std::vector<u32>& words) {
    std::memcpy(memory_.ring.mapping.data() + position_ * 4, words.data(), words.size() * 4);
    position_ += words.size();
    std::atomic_ref(*reinterpret_cast<u64*>(memory_.pointers.mapping.data())).store(position_);
    os::fence_writes();
    doorbells_.mmio.write64(doorbell_, position_);
  }
  // Writes the slot and interrupts.
  std::vector<u32> signal_event() const {
    u64 slot = page_.va + event_ * 8;
    return {kReleaseMem,
            kEndOfPipe,
            kData64Interrupt,
            static_cast<u32>(slot),
            static_cast<u32>(slot >> 32),
            event_,
            0,
            event_};
  }
  u32 wait(u32 timeout_ms) {
    KfdEventData data;
    data.event_id = event_;
    KfdWaitEvents wait{
        .events_ptr = reinterpret_cast<u64>(&data), .num_events = 1, .timeout = timeout_ms};
    EXPECT_EQ(call(wait), 0);
    return wait.wait_result;
  }
  std::vector<u32> write_word(u64 va, u32 value) const {
    return {kWriteData, kToMemoryConfirmed, static_cast<u32>(va), static_cast<u32>(va >> 32),
            value};
  }

  Memory page_, data_;
  QueueMemory memory_;
  u32 event_ = 0;
  os::MappedRegisters doorbells_;
  u64 doorbell_ = 0, position_ = 0;
};

class FreeMachine : public MachineTest {
 protected:
  FreeMachine() : MachineTest({.checks = "warn"}) {}
};

class LockstepMachine : public MachineTest {
 protected:
  LockstepMachine() : MachineTest({.checks = "warn", .lockstep = true, .seed = 7}) {}
};

template <class Words>
std::vector<u32> join(Words a, const std::vector<u32>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST_F(FreeMachine, ADoorbellLeadsToAnEvent) {
  submit(join(write_word(data_.va + 16, 0x1234567), signal_event()));
  EXPECT_EQ(wait(30000), kKfdWaitComplete);
  EXPECT_EQ(*reinterpret_cast<u32*>(data_.mapping.data() + 16), 0x1234567u);
  EXPECT_EQ(checks().errors(), 0u);
  for (const Report& report : checks().reports()) ADD_FAILURE() << to_string(report);
}

TEST_F(LockstepMachine, ADoorbellMovesTheMachineAtOnce) {
  submit(join(write_word(data_.va + 16, 0x1234567), signal_event()));
  EXPECT_EQ(*reinterpret_cast<u32*>(data_.mapping.data() + 16), 0x1234567u);
  EXPECT_EQ(wait(0), kKfdWaitComplete);
  EXPECT_EQ(wait(60000), kKfdWaitTimeout) << "at once, in virtual time";
}

// WAIT_REG_MEM 0x3c, function Equal (3), of memory (1 << 4): nothing can write it any more.
TEST_F(LockstepMachine, AWaitThatNobodyEndsNamesTheQueueAndItsMemory) {
  const u64 va = data_.va + 32;
  submit(join(std::vector<u32>{0xc0053c00, 3 | 1 << 4, static_cast<u32>(va),
                               static_cast<u32>(va >> 32), 5, ~u32{0}, 4},
              signal_event()));
  EXPECT_EQ(wait(~u32{0}), kKfdWaitTimeout);
  ASSERT_EQ(checks().count(kEventForever), 1u);
  const std::string told = to_string(checks().reports()[0]);
  EXPECT_NE(told.find(fmt::format("GPU 0 queue 0 (PM4), ring word 0 waits until 0x0 & 0xffffffff "
                                  "at {:#x} is Equal 0x5",
                                  va)),
            std::string::npos)
      << told;
}

TEST_F(FreeMachine, AFaultIsAnEventAndStopsTheQueue) {
  KfdCreateEvent fault{.event_type = kKfdEventMemory};
  ASSERT_EQ(call(fault), 0);
  ASSERT_EQ(unmap(data_), 0);
  submit(join(write_word(data_.va + 0x10, 1), signal_event()));
  KfdEventData data;
  data.event_id = fault.event_id;
  KfdWaitEvents wait_fault{
      .events_ptr = reinterpret_cast<u64>(&data), .num_events = 1, .timeout = 30000};
  ASSERT_EQ(call(wait_fault), 0);
  EXPECT_EQ(wait_fault.wait_result, kKfdWaitComplete);
  EXPECT_EQ(data.memory_exception.va, data_.va);
  EXPECT_EQ(data.memory_exception.not_present, 1u);
  EXPECT_EQ(wait(20), kKfdWaitTimeout) << "what follows never runs";
  ASSERT_GE(checks().count(kVmAccess), 1u);
  EXPECT_NE(to_string(checks().reports()[0]).find("unmapped by ioctl"), std::string::npos);
}

TEST_F(FreeMachine, AnUnknownPacketStopsTheQueueWithAnException) {
  KfdCreateEvent hang{.event_type = kKfdEventHwException};
  ASSERT_EQ(call(hang), 0);
  submit(join(std::vector<u32>{0xc000fe00, 0}, signal_event()));
  KfdEventData data;
  data.event_id = hang.event_id;
  KfdWaitEvents wait_hang{
      .events_ptr = reinterpret_cast<u64>(&data), .num_events = 1, .timeout = 30000};
  ASSERT_EQ(call(wait_hang), 0);
  EXPECT_EQ(wait_hang.wait_result, kKfdWaitComplete);
  EXPECT_EQ(data.hw_exception.gpu_id, id());
}

TEST_F(FreeMachine, ManyDoorbellsFromManySubmissions) {
  for (u32 i = 0; i < 200; ++i) {
    submit(join(write_word(data_.va + i * 4, i + 1), signal_event()));
    ASSERT_EQ(wait(30000), kKfdWaitComplete) << i;
  }
  for (u32 i = 0; i < 200; ++i) ASSERT_EQ(reinterpret_cast<u32*>(data_.mapping.data())[i], i + 1);
}

}  // namespace
}  // namespace doorbell::emu::amdgpu::testing
