// Events: ids, slots, waits, auto-reset, ages, payloads.
#include "emulator/amd/kfd/events.h"

#include <cerrno>
#include <chrono>
#include <thread>

#include "tests/emulator/amd/kfd/client.h"

namespace doorbell::emu::amdgpu::testing {

using namespace amd::hw;
namespace {

class EventsTest : public ClientTest {
 protected:
  void SetUp() override {
    acquire();
    page_ = allocate(0x8000);
    slots_ = reinterpret_cast<u64*>(page_.mapping.data());
  }

  KfdCreateEvent create(u32 type = kKfdEventSignal, bool auto_reset = true) {
    KfdCreateEvent event{.event_page_offset = kfd().events().has_page() ? 0 : page_.handle,
                         .event_type = type,
                         .auto_reset = auto_reset};
    EXPECT_EQ(call(event), 0);
    return event;
  }

  // The result, or minus the errno.
  int wait(std::vector<KfdEventData> events, bool all, u32 timeout_ms) {
    KfdWaitEvents wait{.events_ptr = reinterpret_cast<u64>(events.data()),
                       .num_events = static_cast<u32>(events.size()),
                       .wait_for_all = all,
                       .timeout = timeout_ms};
    int why = call(wait);
    last_ = events;
    return why ? -why : static_cast<int>(wait.wait_result);
  }
  static KfdEventData of(u32 id, u64 age = 0) {
    KfdEventData data;
    data.event_id = id;
    data.last_event_age = age;
    return data;
  }
  // What the GPU does at the end of a pipe: writes the slot, then interrupts.
  void signal(u32 id) {
    std::atomic_ref(slots_[id]).store(id);
    kfd().interrupts(0).signal(id, 32);
  }

  Memory page_;
  u64* slots_ = nullptr;
  std::vector<KfdEventData> last_;
};

constexpr int kComplete = 0, kTimeout = 1;

TEST_F(EventsTest, IdsAreSlotsFromOneAndOthersAreFarAway) {
  KfdCreateEvent first = create(), second = create();
  EXPECT_EQ(first.event_id, 1u) << "slot 0 is nobody's";
  EXPECT_EQ(first.event_slot_index, 1u);
  EXPECT_EQ(first.event_trigger_data, 1u);
  EXPECT_EQ(second.event_id, 2u);
  EXPECT_EQ(slots_[1], ~u64{0});
  KfdCreateEvent memory = create(kKfdEventMemory);
  EXPECT_EQ(memory.event_id, 0x40000000u);
  EXPECT_EQ(first.event_page_offset, 0x8000'0000'0000'0000u) << "KFD_MMAP_TYPE_EVENTS";
  EXPECT_EQ(memory.event_page_offset, 0u);
  ASSERT_EQ(call(KfdDestroyEvent{.event_id = 1}), 0);
  EXPECT_EQ(create().event_id, 1u) << "the lowest that is free";
  EXPECT_EQ(call(KfdDestroyEvent{.event_id = 77}), EINVAL);
  EXPECT_EQ(checks().count(kEventId), 1u);
}

TEST_F(EventsTest, ThePageIsJudged) {
  Memory small = allocate(0x4000), vram = allocate(0x8000, kAll | kKfdMemVram);
  EXPECT_EQ(call(KfdCreateEvent{.event_page_offset = small.handle}), EINVAL) << "too small";
  EXPECT_EQ(call(KfdCreateEvent{.event_page_offset = vram.handle}), EINVAL) << "not GTT";
  EXPECT_EQ(call(KfdCreateEvent{.event_page_offset = 12}), EINVAL) << "no buffer";
  create();
  EXPECT_EQ(call(KfdCreateEvent{.event_page_offset = page_.handle}), EINVAL) << "set already";
  EXPECT_EQ(checks().count(kEventPage), 4u);
}

// [kfd_ioctl_free_memory_of_gpu(): signal_handle]
TEST_F(EventsTest, ThePageStaysAsLongAsTheProcess) {
  EXPECT_EQ(unmap(page_), 0);
  EXPECT_EQ(map(page_), 0);
  const u32 event = create().event_id;
  ASSERT_EQ(unmap(page_), 0);
  EXPECT_EQ(call(KfdFreeMemory{.handle = page_.handle}), EPERM);
  EXPECT_EQ(checks().count(kEventPage), 1u);
  ASSERT_EQ(call(KfdDestroyEvent{.event_id = event}), 0);
  EXPECT_EQ(call(KfdFreeMemory{.handle = page_.handle}), EPERM) << "also without events";
  signal(create().event_id);
  EXPECT_EQ(kfd().buffers().count(), 0u) << "the client has left nothing";
}

TEST_F(EventsTest, ThereAreSoManySlots) {
  for (u32 i = 1; i < 4096; ++i) ASSERT_EQ(create().event_id, i);
  EXPECT_EQ(call(KfdCreateEvent{}), ENOSPC);
}

TEST_F(EventsTest, AnInterruptWakesAndResetsTheSlot) {
  u32 event = create().event_id;
  EXPECT_EQ(wait({of(event)}, true, 0), kTimeout);
  signal(event);
  EXPECT_EQ(slots_[event], ~u64{0}) << "acknowledged";
  EXPECT_EQ(wait({of(event)}, true, 0), kComplete);
  EXPECT_EQ(wait({of(event)}, true, 0), kTimeout) << "reset by the wait";
}

TEST_F(EventsTest, ManualEventsStay) {
  u32 event = create(kKfdEventSignal, false).event_id;
  ASSERT_EQ(call(KfdSetEvent{.event_id = event}), 0);
  EXPECT_EQ(wait({of(event)}, true, 0), kComplete);
  EXPECT_EQ(wait({of(event)}, true, 0), kComplete);
  ASSERT_EQ(call(KfdResetEvent{.event_id = event}), 0);
  EXPECT_EQ(wait({of(event)}, true, 0), kTimeout);
  u32 memory = create(kKfdEventMemory).event_id;
  EXPECT_EQ(call(KfdSetEvent{.event_id = memory}), EINVAL) << "the kernel's alone";
  EXPECT_EQ(call(KfdResetEvent{.event_id = 99}), EINVAL);
}

TEST_F(EventsTest, AWaitBlocksUntilTheInterrupt) {
  u32 event = create().event_id;
  std::thread gpu([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    signal(event);
  });
  EXPECT_EQ(wait({of(event)}, true, 30000), kComplete);
  gpu.join();
  EXPECT_EQ(wait({of(event)}, true, 0), kTimeout) << "handed to the waiter alone";
  auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(wait({of(event)}, true, 30), kTimeout);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(30));
}

TEST_F(EventsTest, AllOrAny) {
  u32 a = create(kKfdEventSignal, false).event_id, b = create(kKfdEventSignal, false).event_id;
  signal(b);
  EXPECT_EQ(wait({of(a), of(b)}, false, 0), kComplete);
  EXPECT_EQ(wait({of(a), of(b)}, true, 0), kTimeout);
  signal(a);
  EXPECT_EQ(wait({of(a), of(b)}, true, 0), kComplete);
  EXPECT_EQ(wait({}, true, 0), kComplete) << "nothing to wait for";
  EXPECT_EQ(wait({of(a), of(55)}, false, 0), -EINVAL);
}

// [uapi/linux/kfd_ioctl.h kfd_hsa_signal_event_data]: a signal between two waits is not lost.
TEST_F(EventsTest, AnOlderAgeReturnsAtOnce) {
  u32 event = create().event_id;
  EXPECT_EQ(wait({of(event, 1)}, true, 0), kTimeout);
  signal(event);
  EXPECT_EQ(wait({of(event)}, true, 0), kComplete) << "somebody else took the signal";
  EXPECT_EQ(wait({of(event, 1)}, true, 0), kComplete);
  EXPECT_EQ(last_[0].last_event_age, 2u);
  EXPECT_EQ(wait({of(event, 2)}, true, 0), kTimeout);
}

TEST_F(EventsTest, TheCurrentAgeBlocksUntilTheNextSignal) {
  u32 event = create().event_id;
  signal(event);
  ASSERT_EQ(wait({of(event)}, true, 0), kComplete);
  auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(wait({of(event, 2)}, true, 20), kTimeout);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(20));
  std::thread gpu([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    signal(event);
  });
  EXPECT_EQ(wait({of(event, 2)}, true, 30000), kComplete);
  gpu.join();
  EXPECT_EQ(last_[0].last_event_age, 3u);
}

TEST_F(EventsTest, DestroyingWhatIsWaitedForFailsTheWait) {
  u32 event = create().event_id;
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    KfdDestroyEvent destroy{.event_id = event};
    call(destroy);
  });
  EXPECT_EQ(wait({of(event)}, true, 30000), -EIO);
  other.join();
}

TEST_F(EventsTest, AnInterruptWithoutASlotSearchesAll) {
  u32 a = create().event_id, b = create().event_id;
  std::atomic_ref(slots_[b]).store(1);
  kfd().interrupts(0).signal(0, 32);
  EXPECT_EQ(wait({of(b)}, true, 0), kComplete) << "the one that was written";
  EXPECT_EQ(checks().count(kEventMailbox), 0u);
  kfd().interrupts(0).signal(a, 32);
  EXPECT_EQ(wait({of(a)}, true, 0), kTimeout) << "its slot was not written";
  EXPECT_EQ(checks().count(kEventMailbox), 1u);
  signal(a);
  kfd().interrupts(0).signal(a, 32);
  EXPECT_EQ(checks().count(kEventMailbox), 1u) << "two queues, one acknowledgement";
  kfd().interrupts(0).signal(99, 32);
  EXPECT_EQ(checks().count(kEventMailbox), 2u) << "no such event";
}

// Firmware of gfx9 sends interrupts for nothing, without a context; each would make the kernel look
// at every slot, so it drops them. [Linux kfd_int_process_v9.c event_interrupt_isr_v9()]
TEST(EventsOfGfx9Test, AnEndOfPipeWithoutAContextIsDropped) {
  struct Gfx9 : ClientTest {
    Gfx9() : ClientTest(MachineOptions{.gpus = {"gfx942"}, .checks = "warn"}) {}
    void TestBody() override {}
    void run() {
      acquire();
      const Memory page = allocate(0x8000);
      auto* slots = reinterpret_cast<u64*>(page.mapping.data());
      KfdCreateEvent event{.event_page_offset = page.handle, .auto_reset = true};
      ASSERT_EQ(call(event), 0);
      EXPECT_EQ(event.event_id, 1u) << "0 is nobody's: create_signal_event()";
      const auto wait = [&] {
        KfdEventData data;
        data.event_id = event.event_id;
        KfdWaitEvents wait{.events_ptr = reinterpret_cast<u64>(&data), .num_events = 1};
        EXPECT_EQ(call(wait), 0);
        return static_cast<int>(wait.wait_result);
      };
      std::atomic_ref(slots[1]).store(1);
      kfd().interrupts(0).signal(0, 32);
      EXPECT_EQ(wait(), kTimeout);
      kfd().interrupts(0).signal(0, 28);
      EXPECT_EQ(wait(), kComplete) << "copy engines' are looked at";
      std::atomic_ref(slots[1]).store(1);
      kfd().interrupts(0).signal(1, 32);
      EXPECT_EQ(wait(), kComplete);
    }
  };
  Gfx9().run();
}

// [Linux kfd_int_process_v11.c event_interrupt_isr_v11(), AMDGPU_FENCE_MES_QUEUE_FLAG]
TEST_F(EventsTest, TheSchedulersOwnInterruptsAreDropped) {
  const u32 event = create().event_id;
  std::atomic_ref(slots_[event]).store(1);
  kfd().interrupts(0).signal(0x1000000 | event, 32);
  EXPECT_EQ(wait({of(event)}, true, 0), kTimeout);
  kfd().interrupts(0).signal(event, 32);
  EXPECT_EQ(wait({of(event)}, true, 0), kComplete);
}

TEST_F(EventsTest, PartialIdsFindTheirEvent) {
  for (int i = 1; i < 40; ++i) create();
  std::atomic_ref(slots_[37]).store(1);
  kfd().interrupts(0).signal(37 % 16, 4);  // four bits of the id arrive
  EXPECT_EQ(wait({of(37)}, true, 0), kComplete);
}

TEST_F(EventsTest, HangsAreTold) {
  u32 event = create(kKfdEventHwException).event_id;
  kfd().interrupts(0).hw_exception({.queue = 0, .what = "opcode 0x7f"});
  ASSERT_EQ(wait({of(event)}, true, 0), kComplete);
  EXPECT_EQ(last_[0].hw_exception.gpu_id, id(0));
  EXPECT_EQ(last_[0].hw_exception.memory_lost, 1u);
  EXPECT_EQ(last_[0].hw_exception.reset_cause, kKfdResetGpuHang);
}

TEST_F(EventsTest, BadPointersAreFaults) {
  u32 event = create().event_id;
  KfdWaitEvents wait{.events_ptr = 64, .num_events = 1, .timeout = 0};
  EXPECT_EQ(call(wait), EFAULT);
  EXPECT_EQ(wait.wait_result, kKfdWaitFail);
  static_cast<void>(event);
}

}  // namespace

TEST(LockstepEvents, AWaitMovesTheMachineInsteadOfTime) {
  Checks checks(Level::Warn);
  Events events(checks);
  u32 id = 0;
  ASSERT_EQ(events.create(0, true, id), 0);
  int turns = 0;
  u32 passed_ms = 0;
  events.set_advance(
      [&] {
        if (++turns == 3) events.set(id);
        return turns < 5 ? Events::Advance::Moved : Events::Advance::Still;
      },
      [&](u64 time_ns) { passed_ms += static_cast<u32>(time_ns / 1'000'000); });
  EventWait wait[] = {{.id = id}};
  WaitResult result;
  EXPECT_EQ(events.wait(wait, true, ~0u, result), 0);
  EXPECT_EQ(result, WaitResult::Complete);
  EXPECT_EQ(turns, 3);
  EXPECT_EQ(events.wait(wait, true, ~0u, result), 0);
  EXPECT_EQ(result, WaitResult::Timeout);
  EXPECT_EQ(checks.count(kEventForever), 1u) << "nobody is left to signal it";
  EXPECT_EQ(passed_ms, 0u);
  EXPECT_EQ(events.wait(wait, true, 70, result), 0);
  EXPECT_EQ(result, WaitResult::Timeout);
  EXPECT_EQ(passed_ms, 70u);
}

TEST(LockstepEvents, WavesThatOnlyRunLetTimePass) {
  Checks checks(Level::Warn);
  Events events(checks);
  u32 id = 0, passed_ms = 0;
  ASSERT_EQ(events.create(0, true, id), 0);
  int turns = 0;
  events.set_advance(
      [&] {
        if (++turns == 30) events.set(id);
        return Events::Advance::Busy;
      },
      [&](u64 time_ns) { passed_ms += static_cast<u32>(time_ns / 1'000'000); });
  EventWait wait[] = {{.id = id}};
  WaitResult result;
  EXPECT_EQ(events.wait(wait, true, 20, result), 0);
  EXPECT_EQ(result, WaitResult::Timeout);
  EXPECT_EQ(passed_ms, 20u);
  EXPECT_EQ(events.wait(wait, true, 20, result), 0);
  EXPECT_EQ(result, WaitResult::Complete);
  EXPECT_EQ(passed_ms, 30u);
}

TEST(LockstepEvents, AWaitThatNobodyEndsTakesItsTime) {
  Checks checks(Level::Warn);
  Events events(checks);
  u32 id = 0;
  ASSERT_EQ(events.create(0, true, id), 0);
  u64 passed_ns = 0;
  bool settles = false;
  events.set_advance(
      [&] {
        if (settles) events.set(id);
        return Events::Advance::Still;
      },
      [&](u64 time_ns) { passed_ns += time_ns; });
  EventWait wait[] = {{.id = id}};
  WaitResult result;
  EXPECT_EQ(events.wait(wait, true, 7, result), 0);
  EXPECT_EQ(result, WaitResult::Timeout);
  EXPECT_EQ(passed_ns, 7'000'000u);
  settles = true;
  EXPECT_EQ(events.wait(wait, true, 7, result), 0);
  EXPECT_EQ(result, WaitResult::Complete);
  EXPECT_EQ(passed_ns, 7'000'000u);
}

}  // namespace doorbell::emu::amdgpu::testing
