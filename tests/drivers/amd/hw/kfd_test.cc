// The ioctls of KFD against the distribution's <linux/kfd_ioctl.h> where that is new enough (Debian
// 12: version 1.11), else against the numbers of torvalds/linux's header of version 1.17.
#include "drivers/amd/hw/kfd.h"

#include <cstddef>

#include <gtest/gtest.h>
#include <linux/kfd_ioctl.h>

namespace doorbell::amd::hw {
namespace {

// Ours, the kernel's structure, its request.
#define EXPECT_SAME(ours, theirs, request)            \
  EXPECT_EQ(sizeof(ours), sizeof(theirs)) << #theirs; \
  EXPECT_EQ(kRequest<ours>, static_cast<u32>(request)) << #request

TEST(Kfd, SizesAndRequestsAreTheDistributions) {
  EXPECT_SAME(KfdGetVersion, kfd_ioctl_get_version_args, AMDKFD_IOC_GET_VERSION);
  EXPECT_SAME(KfdDestroyQueue, kfd_ioctl_destroy_queue_args, AMDKFD_IOC_DESTROY_QUEUE);
  EXPECT_SAME(KfdSetMemoryPolicy, kfd_ioctl_set_memory_policy_args, AMDKFD_IOC_SET_MEMORY_POLICY);
  EXPECT_SAME(KfdGetClockCounters, kfd_ioctl_get_clock_counters_args,
              AMDKFD_IOC_GET_CLOCK_COUNTERS);
  EXPECT_SAME(KfdGetProcessApertures, kfd_ioctl_get_process_apertures_args,
              AMDKFD_IOC_GET_PROCESS_APERTURES);
  EXPECT_SAME(KfdUpdateQueue, kfd_ioctl_update_queue_args, AMDKFD_IOC_UPDATE_QUEUE);
  EXPECT_SAME(KfdCreateEvent, kfd_ioctl_create_event_args, AMDKFD_IOC_CREATE_EVENT);
  EXPECT_SAME(KfdDestroyEvent, kfd_ioctl_destroy_event_args, AMDKFD_IOC_DESTROY_EVENT);
  EXPECT_SAME(KfdSetEvent, kfd_ioctl_set_event_args, AMDKFD_IOC_SET_EVENT);
  EXPECT_SAME(KfdResetEvent, kfd_ioctl_reset_event_args, AMDKFD_IOC_RESET_EVENT);
  EXPECT_SAME(KfdWaitEvents, kfd_ioctl_wait_events_args, AMDKFD_IOC_WAIT_EVENTS);
  EXPECT_SAME(KfdSetScratchBackingVa, kfd_ioctl_set_scratch_backing_va_args,
              AMDKFD_IOC_SET_SCRATCH_BACKING_VA);
  EXPECT_SAME(KfdGetTileConfig, kfd_ioctl_get_tile_config_args, AMDKFD_IOC_GET_TILE_CONFIG);
  EXPECT_SAME(KfdSetTrapHandler, kfd_ioctl_set_trap_handler_args, AMDKFD_IOC_SET_TRAP_HANDLER);
  EXPECT_SAME(KfdGetProcessAperturesNew, kfd_ioctl_get_process_apertures_new_args,
              AMDKFD_IOC_GET_PROCESS_APERTURES_NEW);
  EXPECT_SAME(KfdAcquireVm, kfd_ioctl_acquire_vm_args, AMDKFD_IOC_ACQUIRE_VM);
  EXPECT_SAME(KfdAllocMemory, kfd_ioctl_alloc_memory_of_gpu_args, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU);
  EXPECT_SAME(KfdFreeMemory, kfd_ioctl_free_memory_of_gpu_args, AMDKFD_IOC_FREE_MEMORY_OF_GPU);
  EXPECT_SAME(KfdMapMemory, kfd_ioctl_map_memory_to_gpu_args, AMDKFD_IOC_MAP_MEMORY_TO_GPU);
  EXPECT_SAME(KfdUnmapMemory, kfd_ioctl_unmap_memory_from_gpu_args,
              AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU);
  EXPECT_SAME(KfdSetCuMask, kfd_ioctl_set_cu_mask_args, AMDKFD_IOC_SET_CU_MASK);
  EXPECT_SAME(KfdGetQueueWaveState, kfd_ioctl_get_queue_wave_state_args,
              AMDKFD_IOC_GET_QUEUE_WAVE_STATE);
  EXPECT_SAME(KfdGetDmabufInfo, kfd_ioctl_get_dmabuf_info_args, AMDKFD_IOC_GET_DMABUF_INFO);
  EXPECT_SAME(KfdImportDmabuf, kfd_ioctl_import_dmabuf_args, AMDKFD_IOC_IMPORT_DMABUF);
  EXPECT_SAME(KfdAllocQueueGws, kfd_ioctl_alloc_queue_gws_args, AMDKFD_IOC_ALLOC_QUEUE_GWS);
  EXPECT_SAME(KfdSmiEvents, kfd_ioctl_smi_events_args, AMDKFD_IOC_SMI_EVENTS);
  EXPECT_SAME(KfdSetXnackMode, kfd_ioctl_set_xnack_mode_args, AMDKFD_IOC_SET_XNACK_MODE);
  EXPECT_SAME(KfdAvailableMemory, kfd_ioctl_get_available_memory_args, AMDKFD_IOC_AVAILABLE_MEMORY);
  EXPECT_EQ(sizeof(KfdProcessDeviceApertures), sizeof(kfd_process_device_apertures));
  EXPECT_EQ(sizeof(KfdMemoryException), sizeof(kfd_hsa_memory_exception_data));
  EXPECT_EQ(sizeof(KfdHwException), sizeof(kfd_hsa_hw_exception_data));
  EXPECT_EQ(sizeof(KfdEventData), sizeof(kfd_event_data));
}

// Newer than Debian 12's header: the requests of version 1.17, evaluated from its macros.
TEST(Kfd, RequestsOfNewerKernels) {
  EXPECT_EQ(kRequest<KfdCreateQueue>, 0xc0604b02u);  // 1.17: 96 bytes
  EXPECT_EQ(kRequest<KfdExportDmabuf>, 0xc0104b24u);
  EXPECT_EQ(kRequest<KfdRuntimeEnable>, 0xc0104b25u);
}

#define EXPECT_FIELD(ours, theirs, field) \
  EXPECT_EQ(offsetof(ours, field), offsetof(theirs, field)) << #theirs "." #field

TEST(Kfd, FieldsLieWhereTheDistributionsDo) {
  using Create = kfd_ioctl_create_queue_args;
  EXPECT_EQ(offsetof(KfdCreateQueue, sdma_engine_id), sizeof(Create) < 96 ? sizeof(Create) : 88);
  EXPECT_FIELD(KfdCreateQueue, Create, ring_base_address);
  EXPECT_FIELD(KfdCreateQueue, Create, write_pointer_address);
  EXPECT_FIELD(KfdCreateQueue, Create, read_pointer_address);
  EXPECT_FIELD(KfdCreateQueue, Create, doorbell_offset);
  EXPECT_FIELD(KfdCreateQueue, Create, ring_size);
  EXPECT_FIELD(KfdCreateQueue, Create, gpu_id);
  EXPECT_FIELD(KfdCreateQueue, Create, queue_type);
  EXPECT_FIELD(KfdCreateQueue, Create, queue_percentage);
  EXPECT_FIELD(KfdCreateQueue, Create, queue_priority);
  EXPECT_FIELD(KfdCreateQueue, Create, queue_id);
  EXPECT_FIELD(KfdCreateQueue, Create, eop_buffer_address);
  EXPECT_FIELD(KfdCreateQueue, Create, eop_buffer_size);
  EXPECT_FIELD(KfdCreateQueue, Create, ctx_save_restore_address);
  EXPECT_FIELD(KfdCreateQueue, Create, ctx_save_restore_size);
  EXPECT_FIELD(KfdCreateQueue, Create, ctl_stack_size);
  EXPECT_FIELD(KfdUpdateQueue, kfd_ioctl_update_queue_args, queue_id);
  EXPECT_FIELD(KfdUpdateQueue, kfd_ioctl_update_queue_args, ring_size);
  EXPECT_FIELD(KfdUpdateQueue, kfd_ioctl_update_queue_args, queue_percentage);
  EXPECT_FIELD(KfdUpdateQueue, kfd_ioctl_update_queue_args, queue_priority);
  EXPECT_FIELD(KfdAllocMemory, kfd_ioctl_alloc_memory_of_gpu_args, va_addr);
  EXPECT_FIELD(KfdAllocMemory, kfd_ioctl_alloc_memory_of_gpu_args, size);
  EXPECT_FIELD(KfdAllocMemory, kfd_ioctl_alloc_memory_of_gpu_args, handle);
  EXPECT_FIELD(KfdAllocMemory, kfd_ioctl_alloc_memory_of_gpu_args, mmap_offset);
  EXPECT_FIELD(KfdAllocMemory, kfd_ioctl_alloc_memory_of_gpu_args, gpu_id);
  EXPECT_FIELD(KfdAllocMemory, kfd_ioctl_alloc_memory_of_gpu_args, flags);
  EXPECT_FIELD(KfdMapMemory, kfd_ioctl_map_memory_to_gpu_args, device_ids_array_ptr);
  EXPECT_FIELD(KfdMapMemory, kfd_ioctl_map_memory_to_gpu_args, n_devices);
  EXPECT_FIELD(KfdMapMemory, kfd_ioctl_map_memory_to_gpu_args, n_success);
  EXPECT_FIELD(KfdUnmapMemory, kfd_ioctl_unmap_memory_from_gpu_args, n_success);
  EXPECT_FIELD(KfdCreateEvent, kfd_ioctl_create_event_args, event_page_offset);
  EXPECT_FIELD(KfdCreateEvent, kfd_ioctl_create_event_args, event_trigger_data);
  EXPECT_FIELD(KfdCreateEvent, kfd_ioctl_create_event_args, event_type);
  EXPECT_FIELD(KfdCreateEvent, kfd_ioctl_create_event_args, auto_reset);
  EXPECT_FIELD(KfdCreateEvent, kfd_ioctl_create_event_args, node_id);
  EXPECT_FIELD(KfdCreateEvent, kfd_ioctl_create_event_args, event_id);
  EXPECT_FIELD(KfdCreateEvent, kfd_ioctl_create_event_args, event_slot_index);
  EXPECT_FIELD(KfdWaitEvents, kfd_ioctl_wait_events_args, events_ptr);
  EXPECT_FIELD(KfdWaitEvents, kfd_ioctl_wait_events_args, num_events);
  EXPECT_FIELD(KfdWaitEvents, kfd_ioctl_wait_events_args, wait_for_all);
  EXPECT_FIELD(KfdWaitEvents, kfd_ioctl_wait_events_args, timeout);
  EXPECT_FIELD(KfdWaitEvents, kfd_ioctl_wait_events_args, wait_result);
  EXPECT_FIELD(KfdEventData, kfd_event_data, event_id);
  EXPECT_EQ(offsetof(KfdEventData, ext), offsetof(kfd_event_data, kfd_event_data_ext));
  EXPECT_FIELD(KfdMemoryException, kfd_hsa_memory_exception_data, va);
  EXPECT_FIELD(KfdMemoryException, kfd_hsa_memory_exception_data, gpu_id);
  EXPECT_EQ(offsetof(KfdMemoryException, error_type),
            offsetof(kfd_hsa_memory_exception_data, ErrorType));
  EXPECT_EQ(offsetof(KfdMemoryException, imprecise),
            offsetof(kfd_hsa_memory_exception_data, failure.imprecise));
  EXPECT_FIELD(KfdImportDmabuf, kfd_ioctl_import_dmabuf_args, dmabuf_fd);
  EXPECT_FIELD(KfdGetDmabufInfo, kfd_ioctl_get_dmabuf_info_args, dmabuf_fd);
  EXPECT_FIELD(KfdGetQueueWaveState, kfd_ioctl_get_queue_wave_state_args, save_area_used_size);
  EXPECT_FIELD(KfdGetTileConfig, kfd_ioctl_get_tile_config_args, gb_addr_config);
}

TEST(Kfd, ConstantsAreTheDistributions) {
  EXPECT_EQ(kKfdMemVram, KFD_IOC_ALLOC_MEM_FLAGS_VRAM);
  EXPECT_EQ(kKfdMemGtt, KFD_IOC_ALLOC_MEM_FLAGS_GTT);
  EXPECT_EQ(kKfdMemUserptr, KFD_IOC_ALLOC_MEM_FLAGS_USERPTR);
  EXPECT_EQ(kKfdMemDoorbell, KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL);
  EXPECT_EQ(kKfdMemMmioRemap, KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP);
  EXPECT_EQ(kKfdMemWritable, static_cast<u32>(KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE));
  EXPECT_EQ(kKfdMemExecutable, static_cast<u32>(KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE));
  EXPECT_EQ(kKfdMemPublic, static_cast<u32>(KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC));
  EXPECT_EQ(kKfdMemNoSubstitute, static_cast<u32>(KFD_IOC_ALLOC_MEM_FLAGS_NO_SUBSTITUTE));
  EXPECT_EQ(kKfdMemAqlQueue, static_cast<u32>(KFD_IOC_ALLOC_MEM_FLAGS_AQL_QUEUE_MEM));
  EXPECT_EQ(kKfdMemCoherent, static_cast<u32>(KFD_IOC_ALLOC_MEM_FLAGS_COHERENT));
  EXPECT_EQ(kKfdMemUncached, static_cast<u32>(KFD_IOC_ALLOC_MEM_FLAGS_UNCACHED));
  EXPECT_EQ(kKfdQueueCompute, KFD_IOC_QUEUE_TYPE_COMPUTE);
  EXPECT_EQ(kKfdQueueSdma, KFD_IOC_QUEUE_TYPE_SDMA);
  EXPECT_EQ(kKfdQueueComputeAql, KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
  EXPECT_EQ(kKfdQueueSdmaXgmi, KFD_IOC_QUEUE_TYPE_SDMA_XGMI);
  EXPECT_EQ(kKfdMaxQueuePriority, KFD_MAX_QUEUE_PRIORITY);
  EXPECT_EQ(kKfdMaxQueuePercentage, KFD_MAX_QUEUE_PERCENTAGE);
  EXPECT_EQ(kKfdMinQueueRingSize, KFD_MIN_QUEUE_RING_SIZE);
  EXPECT_EQ(kKfdEventSignal, KFD_IOC_EVENT_SIGNAL);
  EXPECT_EQ(kKfdEventHwException, KFD_IOC_EVENT_HW_EXCEPTION);
  EXPECT_EQ(kKfdEventMemory, KFD_IOC_EVENT_MEMORY);
  EXPECT_EQ(kKfdWaitTimeout, KFD_IOC_WAIT_RESULT_TIMEOUT);
  EXPECT_EQ(kKfdWaitFail, KFD_IOC_WAIT_RESULT_FAIL);
  EXPECT_EQ(kKfdSignalEventLimit, KFD_SIGNAL_EVENT_LIMIT);
  EXPECT_EQ(kKfdMemPoisonConsumed, KFD_MEM_ERR_POISON_CONSUMED);
}

TEST(Kfd, EveryRequestIsNamedOnce) {
  std::vector<u32> requests;
  for_each_kfd_ioctl([&]<class T>(const T&) { requests.push_back(kRequest<T>); });
  std::sort(requests.begin(), requests.end());
  EXPECT_EQ(std::adjacent_find(requests.begin(), requests.end()), requests.end());
  EXPECT_EQ(requests.size(), 31u);
}

}  // namespace
}  // namespace doorbell::amd::hw
