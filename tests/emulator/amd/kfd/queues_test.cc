// CREATE_QUEUE and its rules; doorbells.
#include <cerrno>

#include "emulator/amd/all_checks.h"
#include "emulator/amd/cp/rules.h"
#include "tests/emulator/amd/kfd/client.h"

namespace doorbell::emu::amdgpu::testing {

using namespace amd::hw;
namespace {

class QueuesTest : public ClientTest {
 protected:
  void SetUp() override {
    acquire(0);
    acquire(1);
  }
  // What is the errno when this is changed?
  template <class Change>
  int refused(const QueueMemory& memory, Change change) {
    KfdCreateQueue arguments = memory.arguments;
    change(arguments);
    return call(arguments);
  }
};

TEST_F(QueuesTest, APm4QueueReachesItsEngine) {
  QueueMemory memory = queue_memory();
  ASSERT_EQ(call(memory.arguments), 0);
  ASSERT_EQ(engine().queues.size(), 1u);
  const QueueDescription& queue = engine().queues[0];
  EXPECT_EQ(queue.kind, QueueKind::Pm4);
  EXPECT_EQ(queue.ring, memory.ring.va);
  EXPECT_EQ(queue.ring_bytes, 0x10000u);
  EXPECT_EQ(queue.read_pointer, memory.pointers.va + 8);
  EXPECT_EQ(queue.write_pointer, memory.pointers.va);
  EXPECT_EQ(queue.eop, memory.eop.va);
  EXPECT_EQ(queue.context_save, memory.save.va);
  EXPECT_EQ(queue.polled_doorbell, nullptr) << "stores are trapped";
  EXPECT_TRUE(engine(1).queues.empty());
  EXPECT_EQ(call(KfdRuntimeEnable{.mode_mask = 1}), EEXIST);
  EXPECT_EQ(checks().count(kRuntimeOrder), 1u) << "too late";
}

TEST_F(QueuesTest, WhatAQueueDoesNotHaveIsZero) {
  QueueMemory memory = queue_memory();
  ASSERT_TRUE(checks().configure("error", all_checks()));
  const auto expect = [&](const Check& check, auto change) {
    const u64 before = checks().count(check);
    EXPECT_EQ(refused(memory, change), EINVAL);
    EXPECT_EQ(checks().count(check), before + 1) << check.id;
  };
  expect(kUnreadArgument, [](KfdCreateQueue& a) { a.pad = 1; });
  expect(kUnreadArgument, [](KfdCreateQueue& a) { a.sdma_engine_id = 1; });
  expect(kUnreadArgument, [](KfdCreateQueue& a) { a.queue_percentage |= 1 << 16; });
  expect(kUnreadArgument, [](KfdCreateQueue& a) { a.queue_percentage |= 1 << 8; });
  expect(kUnreadArgument, [](KfdCreateQueue& a) { a.queue_type = kKfdQueueSdma; });
  expect(kQueueAlignment, [](KfdCreateQueue& a) { a.ring_base_address += 16; });
  expect(kQueueAlignment, [](KfdCreateQueue& a) { a.eop_buffer_address += 16; });
  expect(kQueueAlignment, [](KfdCreateQueue& a) { a.ctx_save_restore_address += 16; });
  expect(kQueueAlignment, [](KfdCreateQueue& a) { a.ctx_save_restore_size += 16; });
  KfdCreateQueue sound = memory.arguments;
  sound.sdma_engine_id = ~u32{0};  // as ROCr 6.4 leaves it
  EXPECT_EQ(call(sound), 0);
  EXPECT_EQ(call(KfdUpdateQueue{.ring_base_address = sound.ring_base_address,
                                .queue_id = sound.queue_id,
                                .ring_size = sound.ring_size,
                                .queue_percentage = 100 | 1 << 16}),
            EINVAL);
}

TEST_F(QueuesTest, DoorbellsAreTrapped) {
  QueueMemory memory = queue_memory();
  ASSERT_EQ(call(memory.arguments), 0);
  u64 page = memory.arguments.doorbell_offset & ~u64{0x1fff};
  auto doorbells = std::move(*kfd_->map_registers({.size = 0x2000, .offset = page}));
  u64 mine = memory.arguments.doorbell_offset - page;
  doorbells.mmio.write64(mine, 0x123);
  doorbells.mmio.write32(mine, 0x124);
  EXPECT_EQ(engine().rings, (std::vector<FakeEngine::Ring>{{0, 0x123, 8}, {0, 0x124, 4}}));
  EXPECT_EQ(doorbells.mmio.read64(mine), 0x124u);
  doorbells.mmio.write64(mine + 8, 1);
  EXPECT_EQ(engine().rings.size(), 2u);
  EXPECT_EQ(checks().count(kDoorbellOfNobody), 1u) << "nobody's doorbell";
  ASSERT_EQ(call(KfdDestroyQueue{.queue_id = memory.arguments.queue_id}), 0);
  EXPECT_EQ(engine().removed, std::vector<QueueId>{0});
  doorbells.mmio.write64(mine, 0x125);
  EXPECT_EQ(checks().count(kDoorbellOfNobody), 2u) << "the queue is gone";
}

TEST_F(QueuesTest, AQueueIsDestroyedWhenItHasReadAll) {
  QueueMemory memory = queue_memory();
  auto* pointers = reinterpret_cast<u64*>(memory.pointers.mapping.data());
  pointers[0] = pointers[1] = 64;
  KfdCreateQueue second = memory.arguments;
  ASSERT_EQ(call(memory.arguments), 0);
  ASSERT_EQ(call(second), 0);
  ASSERT_EQ(call(KfdDestroyQueue{.queue_id = memory.arguments.queue_id}), 0);
  EXPECT_EQ(checks().count(kQueueBusy), 0u);
  pointers[0] = 96;
  ASSERT_EQ(call(KfdDestroyQueue{.queue_id = second.queue_id}), 0) << "and it is gone all the same";
  EXPECT_EQ(checks().count(kQueueBusy), 1u);
  EXPECT_NE(checks().reports()[0].message.find("0x40 read of 0x60 written"), std::string::npos);
}

TEST_F(QueuesTest, AReadPointerOfPm4GoesRoundWithTheRing) {
  QueueMemory memory = queue_memory();
  auto* pointers = reinterpret_cast<u64*>(memory.pointers.mapping.data());
  pointers[0] = memory.arguments.ring_size / 4 + 64, pointers[1] = 64;
  ASSERT_EQ(call(memory.arguments), 0);
  ASSERT_EQ(call(KfdDestroyQueue{.queue_id = memory.arguments.queue_id}), 0);
  EXPECT_EQ(checks().count(kQueueBusy), 0u);
}

// The kernel takes a ring of no bytes, on which nothing runs.
TEST_F(QueuesTest, AQueueWithoutARingIsDestroyed) {
  QueueMemory memory = queue_memory();
  memory.arguments.ring_size = 0;
  ASSERT_EQ(call(memory.arguments), 0);
  EXPECT_EQ(call(KfdDestroyQueue{.queue_id = memory.arguments.queue_id}), 0);
}

TEST_F(QueuesTest, PointersOfAqlAndSdmaCountOn) {
  QueueMemory memory = queue_memory();
  auto* pointers = reinterpret_cast<u64*>(memory.pointers.mapping.data());
  for (u32 type : {kKfdQueueComputeAql, kKfdQueueSdma}) {
    memory.arguments.queue_type = type;
    pointers[0] = pointers[1] = 5 * u64{memory.arguments.ring_size} + 64;
    ASSERT_EQ(call(memory.arguments), 0);
    ASSERT_EQ(call(KfdDestroyQueue{.queue_id = memory.arguments.queue_id}), 0);
    EXPECT_EQ(checks().count(kQueueBusy), 0u) << type;
    pointers[1] -= memory.arguments.ring_size;  // a whole ring behind
    ASSERT_EQ(call(memory.arguments), 0);
    ASSERT_EQ(call(KfdDestroyQueue{.queue_id = memory.arguments.queue_id}), 0);
    EXPECT_EQ(checks().count(kQueueBusy), 1u) << type;
    checks().clear();
  }
}

TEST_F(QueuesTest, EveryQueueHasADoorbellOfItsOwn) {
  QueueMemory memory = queue_memory();
  std::set<u64> doorbells;
  for (int i = 0; i < 8; ++i) {
    KfdCreateQueue arguments = memory.arguments;
    if (i % 2) arguments.queue_type = kKfdQueueSdma;
    ASSERT_EQ(call(arguments), 0);
    EXPECT_EQ(arguments.queue_id, static_cast<u32>(i));
    doorbells.insert(arguments.doorbell_offset);
  }
  EXPECT_EQ(doorbells.size(), 8u);
}

// [set_queue_properties_from_user()]
TEST_F(QueuesTest, RefusesWrongArguments) {
  QueueMemory memory = queue_memory();
  using Q = KfdCreateQueue;
  EXPECT_EQ(refused(memory, [](Q& q) { q.queue_percentage = 101; }), EINVAL);
  EXPECT_EQ(refused(memory, [](Q& q) { q.queue_priority = 16; }), EINVAL);
  EXPECT_EQ(refused(memory, [](Q& q) { q.ring_size = 0x18000; }), EINVAL) << "no power of two";
  EXPECT_EQ(refused(memory, [](Q& q) { q.queue_type = 9; }), 524) << "the kernel's ENOTSUPP";
  EXPECT_EQ(refused(memory, [](Q& q) { q.write_pointer_address = u64{1} << 60; }), EFAULT);
  EXPECT_EQ(checks().count(kQueueArguments), 5u);
  EXPECT_EQ(refused(memory, [](Q& q) { q.gpu_id = 1; }), EINVAL);
  EXPECT_EQ(refused(memory, [](Q& q) { q.gpu_id = 1, q.queue_type = 9; }), 524)
      << "the properties are judged before the GPU is looked for";
  EXPECT_TRUE(engine().queues.empty());
}

// [kfd_queue_acquire_buffers()]
TEST_F(QueuesTest, RefusesWrongSizes) {
  QueueMemory memory = queue_memory();
  using Q = KfdCreateQueue;
  EXPECT_EQ(refused(memory, [](Q& q) { q.eop_buffer_size = 0x2000; }), EINVAL);
  EXPECT_EQ(refused(memory, [](Q& q) { q.ctl_stack_size = 0x1000; }), EINVAL);
  EXPECT_EQ(refused(memory, [](Q& q) { q.ctx_save_restore_size -= 4096; }), EINVAL);
  EXPECT_EQ(checks().count(kQueueSizes), 3u);
  EXPECT_NE(checks().reports().back().message.find("the node wants"), std::string::npos);
}

TEST_F(QueuesTest, RefusesBuffersThatDoNotFit) {
  QueueMemory memory = queue_memory();
  using Q = KfdCreateQueue;
  EXPECT_EQ(refused(memory, [](Q& q) { q.ring_size = 0x8000; }), EINVAL) << "half of the buffer";
  EXPECT_EQ(refused(memory, [](Q& q) { q.ring_base_address += 0x1000; }), EINVAL);
  EXPECT_EQ(refused(memory, [](Q& q) { q.read_pointer_address = q.ring_base_address; }), EINVAL)
      << "a page of a larger buffer";
  EXPECT_EQ(refused(memory, [](Q& q) { q.eop_buffer_address -= 0x1000000000; }), EINVAL);
  EXPECT_EQ(refused(memory, [](Q& q) { q.gpu_id = 0; }), EINVAL);
  EXPECT_EQ(refused(memory, [this](Q& q) { q.gpu_id = id(1); }), EINVAL) << "mapped to the other";
  EXPECT_GE(checks().count(kQueueBuffers), 5u);
  // After so many refusals nothing is held.
  EXPECT_EQ(unmap(memory.ring), 0);
}

TEST_F(QueuesTest, OlderKernelsDoNotAsk) {
  auto machine = std::move(*Machine::create({.checks = "warn,AMD-QUE-002=off,AMD-QUE-003=off"}));
  FakeEngine engine;
  Engine* real = machine->kfd().devices()[0]->engine;
  machine->kfd().devices()[0]->engine = &engine;
  machine->kfd().devices()[0]->acquired = true;
  KfdCreateQueue arguments{.ring_base_address = 0x1000,
                           .write_pointer_address = 0x2000,
                           .read_pointer_address = 0x2008,
                           .ring_size = 0x1000,
                           .gpu_id = machine->kfd().devices()[0]->slot.gpu_id()};
  EXPECT_EQ(machine->kfd().ioctl(kRequest<KfdCreateQueue>, reinterpret_cast<u64>(&arguments)), 0);
  machine->kfd().queues().destroy_all();
  machine->kfd().devices()[0]->engine = real;
}

TEST_F(QueuesTest, AQueuesMemoryStaysMapped) {
  QueueMemory memory = queue_memory();
  ASSERT_EQ(call(memory.arguments), 0);
  EXPECT_EQ(unmap(memory.ring), EBUSY);
  EXPECT_EQ(unmap(memory.save), EBUSY);
  EXPECT_EQ(checks().count(kVmFreeInUse), 2u);
  ASSERT_EQ(call(KfdDestroyQueue{.queue_id = memory.arguments.queue_id}), 0);
  EXPECT_EQ(unmap(memory.ring), 0);
}

TEST_F(QueuesTest, CopyEnginesHaveSoManyQueues) {
  QueueMemory memory = queue_memory();
  memory.arguments.queue_type = kKfdQueueSdma;
  for (int i = 0; i < 12; ++i) {  // two engines of six
    KfdCreateQueue arguments = memory.arguments;
    ASSERT_EQ(call(arguments), 0) << i;
  }
  EXPECT_EQ(refused(memory, [](auto&) {}), ENOMEM);
  EXPECT_EQ(checks().count(kQueueLife), 1u);
  EXPECT_EQ(refused(memory, [](auto& q) { q.queue_type = kKfdQueueSdmaXgmi; }), ENOMEM)
      << "a 7900 XTX has no XGMI";
  EXPECT_EQ(refused(memory,
                    [](auto& q) {
                      q.queue_type = kKfdQueueSdmaByEngine;
                      q.sdma_engine_id = 2;
                    }),
            EINVAL);
}

TEST_F(QueuesTest, UpdatesChangeWhatTheEngineRuns) {
  QueueMemory memory = queue_memory();
  ASSERT_EQ(call(memory.arguments), 0);
  u32 queue = memory.arguments.queue_id;
  ASSERT_EQ(call(KfdUpdateQueue{.ring_base_address = memory.ring.va,
                                .queue_id = queue,
                                .ring_size = 0x10000,
                                .queue_percentage = 0,
                                .queue_priority = 1}),
            0);
  EXPECT_EQ(engine().queues[0].percentage, 0u);
  EXPECT_EQ(engine().queues[0].priority, 1u);
  EXPECT_EQ(call(KfdUpdateQueue{.queue_id = queue + 9, .queue_percentage = 100}), EFAULT);
  EXPECT_EQ(call(KfdUpdateQueue{.queue_id = queue, .queue_percentage = 120}), EINVAL);
  EXPECT_EQ(call(KfdDestroyQueue{.queue_id = queue + 9}), EINVAL);
  EXPECT_EQ(call(KfdUpdateQueue{.ring_base_address = memory.pointers.va,
                                .queue_id = queue,
                                .ring_size = 0x10000,
                                .queue_percentage = 100}),
            EINVAL)
      << "a ring that is not mapped";
}

struct PackageTest : ClientTest {
  PackageTest() : ClientTest({.gpus = {"gfx942"}, .checks = "warn"}) {
    put_fake_engines();
    acquire();
  }
};

// [set_queue_properties_from_user(), kfd_ioctl_update_queue(): bits 15:8 of the percentage]
TEST_F(PackageTest, APm4QueueHasATargetXcc) {
  const SaveAreaSizes sizes = save_area_sizes(*find_node("gfx942"));
  const u64 save_bytes = (u64{sizes.bytes} + sizes.debug_bytes) * 8;
  const Memory ring = allocate(0x10000), pointers = allocate(0x1000), save = allocate(save_bytes),
               eop = allocate(sizes.eop_bytes, kAll | kKfdMemVram);
  KfdCreateQueue arguments{};
  arguments.ring_base_address = ring.va;
  arguments.ring_size = 0x10000;
  arguments.write_pointer_address = pointers.va;
  arguments.read_pointer_address = pointers.va + 8;
  arguments.gpu_id = id();
  arguments.queue_type = kKfdQueueCompute;
  arguments.queue_percentage = 100 | 5 << 8;
  arguments.eop_buffer_address = eop.va;
  arguments.eop_buffer_size = sizes.eop_bytes;
  arguments.ctx_save_restore_address = save.va;
  arguments.ctx_save_restore_size = sizes.bytes;
  arguments.ctl_stack_size = sizes.control_stack_bytes;
  ASSERT_EQ(call(arguments), 0);
  EXPECT_EQ(engine().queues[0].percentage, 100u);
  EXPECT_EQ(engine().queues[0].target_xcc, 5u);
  ASSERT_EQ(call(KfdUpdateQueue{.ring_base_address = ring.va,
                                .queue_id = arguments.queue_id,
                                .ring_size = 0x10000,
                                .queue_percentage = 100 | 7 << 8}),
            0);
  EXPECT_EQ(engine().queues[0].target_xcc, 7u);
}

// Two words of the control stack and 96 bytes of state, of a gfx1100: both are in the save area.
TEST_F(QueuesTest, TellsWhatAQueueThatStandsStillSaved) {
  QueueMemory memory = queue_memory();
  ASSERT_EQ(call(KfdRuntimeEnable{.mode_mask = kKfdRuntimeEnable | kKfdRuntimeTtmpSave}), 0);
  ASSERT_EQ(call(memory.arguments), 0);
  const u32 queue = memory.arguments.queue_id;
  std::vector<u32> stack(48, 0x77777777);
  KfdGetQueueWaveState ask{.ctl_stack_address = reinterpret_cast<u64>(stack.data()),
                           .queue_id = queue};
  EXPECT_EQ(call(ask), EINVAL) << "it is active";
  EXPECT_EQ(call(KfdGetQueueWaveState{.queue_id = queue + 9}), EFAULT);

  SavedContext context;
  context.pushed = {0x11, 0x22};
  context.state.assign(96, 0xab);
  engine().saved = {context};
  KfdUpdateQueue halt{.ring_base_address = memory.ring.va, .queue_id = queue, .ring_size = 0x10000};
  ASSERT_EQ(call(halt), 0);
  ASSERT_EQ(engine().saves.size(), 1u);
  EXPECT_TRUE(engine().saves[0].trap_registers);
  KfdGetQueueWaveState answer = ask;
  ASSERT_EQ(call(answer), 0);
  EXPECT_EQ(answer.ctl_stack_used_size, 16u) << "two words are the command processor's";
  EXPECT_EQ(answer.save_area_used_size, 96u);
  EXPECT_EQ(stack[0], 40960u - 16);
  EXPECT_EQ(stack[1], 16u);
  EXPECT_EQ(stack[2], 40960u + 96);
  EXPECT_EQ(stack[3], 96u);
  EXPECT_EQ(stack[4], 0x77777777u) << "the client's part of the header";
  // The stack grew down to where it begins, the state up.
  const u8* saved = space().at(memory.save.va + 40960 - 8, 8 + 96, false);
  ASSERT_NE(saved, nullptr);
  u32 words[2];
  std::memcpy(words, saved, sizeof words);
  EXPECT_EQ(words[0], 0x22u);
  EXPECT_EQ(words[1], 0x11u);
  EXPECT_EQ(saved[8 + 95], 0xab);

  answer.ctl_stack_address = 16;  // not mapped
  EXPECT_EQ(call(answer), EFAULT);
  KfdUpdateQueue go_on = halt;
  go_on.queue_percentage = 100;
  ASSERT_EQ(call(go_on), 0);
  EXPECT_EQ(call(ask), EINVAL) << "it is active again";

  KfdCreateQueue copies = memory.arguments;
  copies.queue_type = kKfdQueueSdma;
  copies.queue_percentage = 0;
  ASSERT_EQ(call(copies), 0);
  EXPECT_EQ(call(KfdGetQueueWaveState{.queue_id = copies.queue_id}), EINVAL)
      << "a copy queue has no waves";
}

TEST_F(QueuesTest, AFaultStopsEveryQueueOfTheGpu) {
  QueueMemory memory = queue_memory();
  KfdCreateQueue second = memory.arguments;
  ASSERT_EQ(call(memory.arguments), 0);
  ASSERT_EQ(call(second), 0);
  KfdCreateEvent event{.event_type = kKfdEventMemory};
  ASSERT_EQ(call(event), 0);
  kfd().interrupts(0).memory_fault(
      {.queue = 1, .va = 0xdead'0123, .not_present = true, .what = "kernel E, lane 3"});
  EXPECT_EQ(engine().queues[0].percentage, 0u);
  EXPECT_EQ(engine().queues[1].percentage, 0u);
  EXPECT_EQ(checks().count(kVmAccess), 1u);
  EXPECT_NE(checks().reports().back().message.find("kernel E, lane 3"), std::string::npos);

  KfdEventData data;
  data.event_id = event.event_id;
  KfdWaitEvents wait{.events_ptr = reinterpret_cast<u64>(&data), .num_events = 1, .timeout = 0};
  ASSERT_EQ(call(wait), 0);
  EXPECT_EQ(wait.wait_result, kKfdWaitComplete);
  EXPECT_EQ(data.memory_exception.va, 0xdead'0000u) << "the page";
  EXPECT_EQ(data.memory_exception.not_present, 1u);
  EXPECT_EQ(data.memory_exception.gpu_id, id(0));
}

// [kfd_device_queue_manager.c update_queue(), create_queue_cpsch(): is_evicted]
TEST_F(QueuesTest, NoUpdateRunsAQueueThatAFaultStopped) {
  QueueMemory memory = queue_memory(), other = queue_memory(1);
  ASSERT_EQ(call(memory.arguments), 0);
  ASSERT_EQ(call(other.arguments), 0);
  kfd().interrupts(0).memory_fault({.queue = 0, .va = 0x1000, .not_present = true, .what = "E"});
  EXPECT_EQ(call(KfdUpdateQueue{.ring_base_address = memory.ring.va,
                                .queue_id = memory.arguments.queue_id,
                                .ring_size = 0x10000,
                                .queue_percentage = 100}),
            0);
  EXPECT_EQ(engine().queues[0].percentage, 0u);
  KfdCreateQueue later = queue_memory().arguments;
  EXPECT_EQ(call(later), 0);
  EXPECT_EQ(engine().queues[1].percentage, 0u) << "nor a new one";
  EXPECT_EQ(engine(1).queues[0].percentage, 100u) << "the other GPU goes on";
  std::vector<u32> stack(48);
  EXPECT_EQ(call(KfdGetQueueWaveState{.ctl_stack_address = reinterpret_cast<u64>(stack.data()),
                                      .queue_id = memory.arguments.queue_id}),
            0)
      << "it is not active";
}

// [kfd_chardev.c kfd_ioctl_alloc_queue_gws(), kfd_process_queue_manager.c pqm_set_gws()]
TEST_F(QueuesTest, OneQueueOfAGpuBringsGlobalWaveSync) {
  QueueMemory memory = queue_memory(), other = queue_memory(1);
  KfdCreateQueue second = memory.arguments;
  ASSERT_EQ(call(memory.arguments), 0);
  ASSERT_EQ(call(second), 0);
  ASSERT_EQ(call(other.arguments), 0);
  const auto set = [&](u32 queue, u32 num_gws) {
    KfdAllocQueueGws arguments{.queue_id = queue, .num_gws = num_gws, .first_gws = 7};
    const int why = call(arguments);
    EXPECT_EQ(arguments.first_gws, why == 0 ? 0u : 7u);
    return why;
  };
  EXPECT_EQ(set(99, 1), EINVAL) << "no such queue";
  EXPECT_EQ(set(second.queue_id, 0), EINVAL) << "it has none";
  EXPECT_EQ(set(memory.arguments.queue_id, 64), 0);
  EXPECT_EQ(set(memory.arguments.queue_id, 64), EBUSY);
  EXPECT_EQ(set(second.queue_id, 64), EBUSY);
  EXPECT_EQ(set(other.arguments.queue_id, 64), 0) << "another GPU";
  EXPECT_EQ(set(memory.arguments.queue_id, 0), 0);
  EXPECT_EQ(set(second.queue_id, 1), 0);
  EXPECT_EQ(call(KfdDestroyQueue{.queue_id = second.queue_id}), 0);
  EXPECT_EQ(set(memory.arguments.queue_id, 64), 0) << "who had it is gone";
  EXPECT_FALSE(engine().queues[0].wave_sync) << "a formality on gfx1100";
}

class Gfx1030Test : public ClientTest {
 protected:
  Gfx1030Test() : ClientTest({.gpus = {"gfx1030"}, .checks = "warn"}) { put_fake_engines(); }
};

// [kfd_device.c kfd_gws_init(): of gfx10.3 from MEC2's firmware 0x6b on]
TEST_F(Gfx1030Test, GlobalWaveSyncIsTheHardwares) {
  EXPECT_GE(find_node("gfx1030")->firmware, 0x6bu);
  acquire();
  QueueMemory memory = queue_memory();
  const SaveAreaSizes sizes = save_area_sizes(*find_node("gfx1030"));
  const Memory save =
      allocate((sizes.bytes + sizes.debug_bytes + 0xfff) & ~0xfffu, kAll | kKfdMemVram);
  ASSERT_EQ(map(save), 0);
  memory.arguments.ctx_save_restore_address = save.va;
  memory.arguments.ctx_save_restore_size = sizes.bytes;
  memory.arguments.ctl_stack_size = sizes.control_stack_bytes;
  ASSERT_EQ(call(memory.arguments), 0);
  const u32 queue = memory.arguments.queue_id;
  EXPECT_FALSE(engine().queues[0].wave_sync);
  EXPECT_EQ(call(KfdAllocQueueGws{.queue_id = queue, .num_gws = 64}), 0);
  EXPECT_TRUE(engine().queues[0].wave_sync);
  EXPECT_EQ(call(KfdAllocQueueGws{.queue_id = queue}), 0);
  EXPECT_FALSE(engine().queues[0].wave_sync);
}

}  // namespace
}  // namespace doorbell::emu::amdgpu::testing
