// KFD ioctls about events, and what a fault or a hang tells. Layouts as in kfd/process.h.
// [torvalds/linux include/uapi/linux/kfd_ioctl.h]
#pragma once

#include "drivers/amd/hw/ioctl.h"

namespace doorbell::amd::hw {

// [KFD_IOC_EVENT_*]
inline constexpr u32 kKfdEventSignal = 0, kKfdEventNodeChange = 1, kKfdEventDeviceStateChange = 2,
                     kKfdEventHwException = 3, kKfdEventSystem = 4, kKfdEventDebug = 5,
                     kKfdEventProfile = 6, kKfdEventQueue = 7, kKfdEventMemory = 8;
// [KFD_IOC_WAIT_RESULT_*]
inline constexpr u32 kKfdWaitComplete = 0, kKfdWaitTimeout = 1, kKfdWaitFail = 2;
// Slots of 8 bytes in the event page. [KFD_SIGNAL_EVENT_LIMIT]
inline constexpr u32 kKfdSignalEventLimit = 4096;
// [KFD_HW_EXCEPTION_*]
inline constexpr u32 kKfdResetWholeGpu = 0, kKfdResetPerEngine = 1;
inline constexpr u32 kKfdResetGpuHang = 0, kKfdResetEcc = 1;
// For error_type. [KFD_MEM_ERR_*]
inline constexpr u32 kKfdMemNoRas = 0, kKfdMemSramEcc = 1, kKfdMemPoisonConsumed = 2,
                     kKfdMemGpuHang = 3;

// [kfd_ioctl_create_event_args]
struct KfdCreateEvent {
  static constexpr auto kName = "CREATE_EVENT";
  static constexpr auto kDirection = IoctlDirection::ReadWrite;
  static constexpr char kType = 'K';
  static constexpr u8 kNumber = 0x08;
  u64 event_page_offset = 0;   // to: handle of the event page, of the first; from: for mmap
  u32 event_trigger_data = 0;  // from: what an interrupt must carry
  u32 event_type = 0, auto_reset = 0, node_id = 0;
  u32 event_id = 0, event_slot_index = 0;  // from
  static void fields(auto& p, auto f) {
    f("event_page_offset", p.event_page_offset);
    f("event_trigger_data", p.event_trigger_data);
    f("event_type", p.event_type);
    f("auto_reset", p.auto_reset);
    f("node_id", p.node_id);
    f("event_id", p.event_id);
    f("event_slot_index", p.event_slot_index);
  }
};

// [kfd_ioctl_destroy_event_args]
struct KfdDestroyEvent {
  static constexpr auto kName = "DESTROY_EVENT";
  static constexpr auto kDirection = IoctlDirection::Write;
  static constexpr char kType = 'K';
  static constexpr u8 kNumber = 0x09;
  u32 event_id = 0, pad = 0;
  static void fields(auto& p, auto f) {
    f("event_id", p.event_id);
    f("pad", p.pad);
  }
};

// [kfd_ioctl_set_event_args]
struct KfdSetEvent {
  static constexpr auto kName = "SET_EVENT";
  static constexpr auto kDirection = IoctlDirection::Write;
  static constexpr char kType = 'K';
  static constexpr u8 kNumber = 0x0a;
  u32 event_id = 0, pad = 0;
  static void fields(auto& p, auto f) {
    f("event_id", p.event_id);
    f("pad", p.pad);
  }
};

// [kfd_ioctl_reset_event_args]
struct KfdResetEvent {
  static constexpr auto kName = "RESET_EVENT";
  static constexpr auto kDirection = IoctlDirection::Write;
  static constexpr char kType = 'K';
  static constexpr u8 kNumber = 0x0b;
  u32 event_id = 0, pad = 0;
  static void fields(auto& p, auto f) {
    f("event_id", p.event_id);
    f("pad", p.pad);
  }
};

// [kfd_memory_exception_failure, kfd_hsa_memory_exception_data]
struct KfdMemoryException {
  u32 not_present = 0;  // or the page is the supervisor's
  u32 read_only = 0, no_execute = 0;
  u32 imprecise = 0;  // the address is not exact
  u64 va = 0;
  u32 gpu_id = 0, error_type = 0;
};

// [kfd_hsa_hw_exception_data]
struct KfdHwException {
  u32 reset_type = 0, reset_cause = 0, memory_lost = 0, gpu_id = 0;
};

// One event to wait for, and what it brought: of the union the part that the event's type says.
// A wait for a signal gives in last_event_age the age it has seen, and returns when there is a
// newer one; 0 asks for the older protocol. [kfd_event_data, kfd_hsa_signal_event_data]
struct KfdEventData {
  union {
    KfdMemoryException memory_exception;
    KfdHwException hw_exception;
    u64 last_event_age;
  };
  u64 ext = 0;
  u32 event_id = 0, pad = 0;

  KfdEventData() : memory_exception() {}
};

// timeout in ms, ~0: for ever. [kfd_ioctl_wait_events_args]
struct KfdWaitEvents {
  static constexpr auto kName = "WAIT_EVENTS";
  static constexpr auto kDirection = IoctlDirection::ReadWrite;
  static constexpr char kType = 'K';
  static constexpr u8 kNumber = 0x0c;
  u64 events_ptr = 0;
  u32 num_events = 0, wait_for_all = 0, timeout = 0;
  u32 wait_result = 0;  // from
  static void fields(auto& p, auto f) {
    f("events_ptr", p.events_ptr);
    f("num_events", p.num_events);
    f("wait_for_all", p.wait_for_all);
    f("timeout", p.timeout);
    f("wait_result", p.wait_result);
  }
};

}  // namespace doorbell::amd::hw
