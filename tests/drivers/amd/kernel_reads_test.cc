// The bytes of the driver's ioctls, as the distribution's <linux/kfd_ioctl.h> reads them: neither
// the names nor the places are the driver's own.
#include <gtest/gtest.h>
#include <linux/kfd_ioctl.h>

#include <algorithm>
#include <cstring>

#include "drivers/amd/kernel/kfd.h"
#include "drivers/amd/kernel/kfd_events.h"
#include "drivers/amd/kernel/kfd_queue.h"
#include "tests/drivers/amd/fake_kfd.h"

namespace doorbell::amd {
namespace {

using testing::FakeKfd;

TEST(KernelReads, WhatTheDriverSays) {
  FakeKfd fake;
  const std::unique_ptr<Kfd> kfd = *Kfd::open(fake);
  const auto read = [&]<class T>(unsigned long request, T) {
    T arguments{};
    // Newer kernels have fields behind those of the distribution's, which kfd_ioctl() cuts off.
    const std::vector<u8>& bytes = fake.last_bytes[request & 0xffff];
    EXPECT_GE(bytes.size(), sizeof arguments);
    std::memcpy(&arguments, bytes.data(), std::min(bytes.size(), sizeof arguments));
    return arguments;
  };
  KfdGpu& gpu = **kfd->gpu(0);
  EXPECT_EQ(read(AMDKFD_IOC_ACQUIRE_VM, kfd_ioctl_acquire_vm_args{}).gpu_id, 0x4d5au);
  const auto memory = *gpu.allocate({.bytes = 100});
  const auto allocated = read(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, kfd_ioctl_alloc_memory_of_gpu_args{});
  EXPECT_EQ(allocated.flags,
            static_cast<u32>(KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE |
                             KFD_IOC_ALLOC_MEM_FLAGS_NO_SUBSTITUTE));
  EXPECT_EQ(allocated.va_addr, memory->address());
  EXPECT_EQ(allocated.gpu_id, 0x4d5au);
  const auto mapped = read(AMDKFD_IOC_MAP_MEMORY_TO_GPU, kfd_ioctl_map_memory_to_gpu_args{});
  EXPECT_EQ(mapped.handle, memory->handle());
  EXPECT_EQ(mapped.n_devices, 1u);
  const std::pair<QueueType, u32> kTypes[] = {{QueueType::Pm4, KFD_IOC_QUEUE_TYPE_COMPUTE},
                                              {QueueType::Aql, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL},
                                              {QueueType::Sdma, KFD_IOC_QUEUE_TYPE_SDMA}};
  for (const auto& [type, kernels] : kTypes) {
    const auto queue = *KfdQueue::make(gpu, *find_caps(110000), type, u64{1} << 16);
    const auto made = read(AMDKFD_IOC_CREATE_QUEUE, kfd_ioctl_create_queue_args{});
    EXPECT_EQ(made.queue_type, kernels);
    EXPECT_EQ(made.ring_size, 65536u);
    EXPECT_EQ(made.queue_percentage, static_cast<u32>(KFD_MAX_QUEUE_PERCENTAGE));
    EXPECT_LE(made.queue_priority, static_cast<u32>(KFD_MAX_QUEUE_PRIORITY));
    EXPECT_EQ(made.eop_buffer_size, type == QueueType::Sdma ? 0u : 4096u);
    ASSERT_TRUE(queue->stop());
    const auto stopped = read(AMDKFD_IOC_UPDATE_QUEUE, kfd_ioctl_update_queue_args{});
    EXPECT_EQ(stopped.queue_id, queue->id());
    EXPECT_EQ(stopped.queue_percentage, 0u);
    EXPECT_EQ(stopped.ring_base_address, made.ring_base_address);
  }
  const KfdEvents::Interrupt interrupt = *kfd->events().make_interrupt();
  const auto event = read(AMDKFD_IOC_CREATE_EVENT, kfd_ioctl_create_event_args{});
  EXPECT_EQ(event.event_type, static_cast<u32>(KFD_IOC_EVENT_SIGNAL));
  ASSERT_TRUE(kfd->events().look());
  const auto waited = read(AMDKFD_IOC_WAIT_EVENTS, kfd_ioctl_wait_events_args{});
  EXPECT_EQ(waited.num_events, 3u) << "memory faults, resets, the interrupt";
  EXPECT_EQ(waited.wait_for_all, 0u);
  kfd->events().release_interrupt(interrupt);
}

}  // namespace
}  // namespace doorbell::amd
