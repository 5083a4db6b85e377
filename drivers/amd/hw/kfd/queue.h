// KFD ioctls about queues. Layouts as in kfd/process.h.
// [torvalds/linux include/uapi/linux/kfd_ioctl.h]
#pragma once

#include "drivers/amd/hw/ioctl.h"

namespace doorbell::amd::hw {

// [KFD_IOC_QUEUE_TYPE_*]
inline constexpr u32 kKfdQueueCompute = 0, kKfdQueueSdma = 1, kKfdQueueComputeAql = 2,
                     kKfdQueueSdmaXgmi = 3, kKfdQueueSdmaByEngine = 4;
inline constexpr u32 kKfdMaxQueuePercentage = 100, kKfdMaxQueuePriority = 15;
inline constexpr u32 kKfdMinQueueRingSize = 1024;

// [kfd_ioctl_create_queue_args; before 1.17 without the last two fields]
struct KfdCreateQueue {
  static constexpr auto kName = "CREATE_QUEUE";
  static constexpr auto kDirection = IoctlDirection::ReadWrite;
  static constexpr char kType = 'K';
  static constexpr u8 kNumber = 0x02;
  u64 ring_base_address = 0;
  u64 write_pointer_address = 0, read_pointer_address = 0;  // to, though the header says from
  u64 doorbell_offset = 0;                                  // from
  u32 ring_size = 0;                                        // bytes
  u32 gpu_id = 0, queue_type = 0, queue_percentage = 0, queue_priority = 0;
  u32 queue_id = 0;  // from
  u64 eop_buffer_address = 0, eop_buffer_size = 0;
  u64 ctx_save_restore_address = 0;
  u32 ctx_save_restore_size = 0, ctl_stack_size = 0;
  u32 sdma_engine_id = 0, pad = 0;
  static void fields(auto& p, auto f) {
    f("ring_base_address", p.ring_base_address);
    f("write_pointer_address", p.write_pointer_address);
    f("read_pointer_address", p.read_pointer_address);
    f("doorbell_offset", p.doorbell_offset);
    f("ring_size", p.ring_size);
    f("gpu_id", p.gpu_id);
    f("queue_type", p.queue_type);
    f("queue_percentage", p.queue_percentage);
    f("queue_priority", p.queue_priority);
    f("queue_id", p.queue_id);
    f("eop_buffer_address", p.eop_buffer_address);
    f("eop_buffer_size", p.eop_buffer_size);
    f("ctx_save_restore_address", p.ctx_save_restore_address);
    f("ctx_save_restore_size", p.ctx_save_restore_size);
    f("ctl_stack_size", p.ctl_stack_size);
    f("sdma_engine_id", p.sdma_engine_id);
    f("pad", p.pad);
  }
};
// The size that kernels before 1.17 know. A kernel copies as many bytes as the request says and
// zeroes the rest, so both requests work on both. [amdkfd/kfd_chardev.c kfd_ioctl]
inline constexpr usize kKfdCreateQueueOldBytes = 88;

// [kfd_ioctl_destroy_queue_args]
struct KfdDestroyQueue {
  static constexpr auto kName = "DESTROY_QUEUE";
  static constexpr auto kDirection = IoctlDirection::ReadWrite;
  static constexpr char kType = 'K';
  static constexpr u8 kNumber = 0x03;
  u32 queue_id = 0, pad = 0;
  static void fields(auto& p, auto f) {
    f("queue_id", p.queue_id);
    f("pad", p.pad);
  }
};

// [kfd_ioctl_update_queue_args]; percentage 0 stops the queue.
struct KfdUpdateQueue {
  static constexpr auto kName = "UPDATE_QUEUE";
  static constexpr auto kDirection = IoctlDirection::Write;
  static constexpr char kType = 'K';
  static constexpr u8 kNumber = 0x07;
  u64 ring_base_address = 0;
  u32 queue_id = 0, ring_size = 0, queue_percentage = 0, queue_priority = 0;
  static void fields(auto& p, auto f) {
    f("ring_base_address", p.ring_base_address);
    f("queue_id", p.queue_id);
    f("ring_size", p.ring_size);
    f("queue_percentage", p.queue_percentage);
    f("queue_priority", p.queue_priority);
  }
};

// [kfd_ioctl_set_cu_mask_args]
struct KfdSetCuMask {
  static constexpr auto kName = "SET_CU_MASK";
  static constexpr auto kDirection = IoctlDirection::Write;
  static constexpr char kType = 'K';
  static constexpr u8 kNumber = 0x1a;
  u32 queue_id = 0, num_cu_mask = 0;
  u64 cu_mask_ptr = 0;
  static void fields(auto& p, auto f) {
    f("queue_id", p.queue_id);
    f("num_cu_mask", p.num_cu_mask);
    f("cu_mask_ptr", p.cu_mask_ptr);
  }
};

// How much of the save area a stopped queue uses; copies its control stack.
// [kfd_ioctl_get_queue_wave_state_args]
struct KfdGetQueueWaveState {
  static constexpr auto kName = "GET_QUEUE_WAVE_STATE";
  static constexpr auto kDirection = IoctlDirection::ReadWrite;
  static constexpr char kType = 'K';
  static constexpr u8 kNumber = 0x1b;
  u64 ctl_stack_address = 0;
  u32 ctl_stack_used_size = 0, save_area_used_size = 0;  // from
  u32 queue_id = 0, pad = 0;
  static void fields(auto& p, auto f) {
    f("ctl_stack_address", p.ctl_stack_address);
    f("ctl_stack_used_size", p.ctl_stack_used_size);
    f("save_area_used_size", p.save_area_used_size);
    f("queue_id", p.queue_id);
    f("pad", p.pad);
  }
};

// [kfd_ioctl_alloc_queue_gws_args]
struct KfdAllocQueueGws {
  static constexpr auto kName = "ALLOC_QUEUE_GWS";
  static constexpr auto kDirection = IoctlDirection::ReadWrite;
  static constexpr char kType = 'K';
  static constexpr u8 kNumber = 0x1e;
  u32 queue_id = 0, num_gws = 0, first_gws = 0, pad = 0;
  static void fields(auto& p, auto f) {
    f("queue_id", p.queue_id);
    f("num_gws", p.num_gws);
    f("first_gws", p.first_gws);
    f("pad", p.pad);
  }
};

}  // namespace doorbell::amd::hw
