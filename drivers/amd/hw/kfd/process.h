// KFD ioctls about the process: version, its GPU's address space, apertures, clocks, runtime mode.
// Fields bear the kernel's names; `fields` lists them for tracing and for the tests that compare
// them with the distribution's header. "to" the kernel or "from" it is said where it matters.
//
// [torvalds/linux include/uapi/linux/kfd_ioctl.h, version 1.17; structures by the names in
// brackets]
#pragma once

#include "drivers/amd/hw/ioctl.h"

namespace doorbell::amd::hw {

// The kernel's version of this interface that this project is written against, and the oldest that
// it takes, that of Linux 6.1: a save area in memory of the process's choice. What came later:
// EXPORT_DMABUF with 1.12, RUNTIME_ENABLE with 1.13. [kfd_ioctl.h, the list of versions]
// ALLOC_MEM_FLAGS_EXT_COHERENT has no version of its own: it came with Linux 6.7 [5f248462c69d],
// whose interface is 1.14 as is that of kernels without it; 1.15 is the first that has it for sure.
inline constexpr u32 kKfdMajor = 1, kKfdMinor = 17, kKfdOldestMinor = 11;
inline constexpr u32 kKfdExportMinor = 12, kKfdRuntimeMinor = 13, kKfdExtCoherentMinor = 15;

struct KfdGetVersion {  // [kfd_ioctl_get_version_args]
  static constexpr auto kName = "GET_VERSION";
  static constexpr auto kDirection = IoctlDirection::Read;
  static constexpr char kType = 'K';
  static constexpr u8 kNumber = 0x01;
  u32 major_version = 0, minor_version = 0;
  static void fields(auto& p, auto f) {
    f("major_version", p.major_version);
    f("minor_version", p.minor_version);
  }
};

// Binds the address space of an open render node to the process. [kfd_ioctl_acquire_vm_args]
struct KfdAcquireVm {
  static constexpr auto kName = "ACQUIRE_VM";
  static constexpr auto kDirection = IoctlDirection::Write;
  static constexpr char kType = 'K';
  static constexpr u8 kNumber = 0x15;
  u32 drm_fd = 0, gpu_id = 0;
  static void fields(auto& p, auto f) {
    f("drm_fd", p.drm_fd);
    f("gpu_id", p.gpu_id);
  }
};

// [kfd_process_device_apertures]
struct KfdProcessDeviceApertures {
  u64 lds_base = 0, lds_limit = 0, scratch_base = 0, scratch_limit = 0;
  u64 gpuvm_base = 0, gpuvm_limit = 0;
  u32 gpu_id = 0, pad = 0;
  static void fields(auto& p, auto f) {
    f("lds_base", p.lds_base);
    f("lds_limit", p.lds_limit);
    f("scratch_base", p.scratch_base);
    f("scratch_limit", p.scratch_limit);
    f("gpuvm_base", p.gpuvm_base);
    f("gpuvm_limit", p.gpuvm_limit);
    f("gpu_id", p.gpu_id);
    f("pad", p.pad);
  }
};

// Fills an array of the structure above. [kfd_ioctl_get_process_apertures_new_args]
struct KfdGetProcessAperturesNew {
  static constexpr auto kName = "GET_PROCESS_APERTURES_NEW";
  static constexpr auto kDirection = IoctlDirection::ReadWrite;
  static constexpr char kType = 'K';
  static constexpr u8 kNumber = 0x14;
  u64 kfd_process_device_apertures_ptr = 0;
  u32 num_of_nodes = 0;  // to: room; from: filled
  u32 pad = 0;
  static void fields(auto& p, auto f) {
    f("kfd_process_device_apertures_ptr", p.kfd_process_device_apertures_ptr);
    f("num_of_nodes", p.num_of_nodes);
    f("pad", p.pad);
  }
};

inline constexpr u32 kKfdApertureNodes = 7;  // NUM_OF_SUPPORTED_GPUS
// The older form, for seven GPUs at most. [kfd_ioctl_get_process_apertures_args]
struct KfdGetProcessApertures {
  static constexpr auto kName = "GET_PROCESS_APERTURES";
  static constexpr auto kDirection = IoctlDirection::Read;
  static constexpr char kType = 'K';
  static constexpr u8 kNumber = 0x06;
  KfdProcessDeviceApertures process_apertures[kKfdApertureNodes];
  u32 num_of_nodes = 0, pad = 0;
  static void fields(auto& p, auto f) {
    f("num_of_nodes", p.num_of_nodes);
    f("pad", p.pad);
  }
};

// [kfd_ioctl_get_clock_counters_args]
struct KfdGetClockCounters {
  static constexpr auto kName = "GET_CLOCK_COUNTERS";
  static constexpr auto kDirection = IoctlDirection::ReadWrite;
  static constexpr char kType = 'K';
  static constexpr u8 kNumber = 0x05;
  u64 gpu_clock_counter = 0, cpu_clock_counter = 0;
  u64 system_clock_counter = 0, system_clock_freq = 0;
  u32 gpu_id = 0, pad = 0;
  static void fields(auto& p, auto f) {
    f("gpu_clock_counter", p.gpu_clock_counter);
    f("cpu_clock_counter", p.cpu_clock_counter);
    f("system_clock_counter", p.system_clock_counter);
    f("system_clock_freq", p.system_clock_freq);
    f("gpu_id", p.gpu_id);
    f("pad", p.pad);
  }
};

// For default_policy and alternate_policy. [KFD_IOC_CACHE_POLICY_*]
inline constexpr u32 kKfdCachePolicyCoherent = 0, kKfdCachePolicyNoncoherent = 1;
// [kfd_ioctl_set_memory_policy_args; 1.18 names the last field misc_process_flag]
struct KfdSetMemoryPolicy {
  static constexpr auto kName = "SET_MEMORY_POLICY";
  static constexpr auto kDirection = IoctlDirection::Write;
  static constexpr char kType = 'K';
  static constexpr u8 kNumber = 0x04;
  u64 alternate_aperture_base = 0, alternate_aperture_size = 0;
  u32 gpu_id = 0, default_policy = 0, alternate_policy = 0, pad = 0;
  static void fields(auto& p, auto f) {
    f("alternate_aperture_base", p.alternate_aperture_base);
    f("alternate_aperture_size", p.alternate_aperture_size);
    f("gpu_id", p.gpu_id);
    f("default_policy", p.default_policy);
    f("alternate_policy", p.alternate_policy);
    f("pad", p.pad);
  }
};

// [kfd_ioctl_set_scratch_backing_va_args]
struct KfdSetScratchBackingVa {
  static constexpr auto kName = "SET_SCRATCH_BACKING_VA";
  static constexpr auto kDirection = IoctlDirection::ReadWrite;
  static constexpr char kType = 'K';
  static constexpr u8 kNumber = 0x11;
  u64 va_addr = 0;
  u32 gpu_id = 0, pad = 0;
  static void fields(auto& p, auto f) {
    f("va_addr", p.va_addr);
    f("gpu_id", p.gpu_id);
    f("pad", p.pad);
  }
};

// [kfd_ioctl_get_tile_config_args]
struct KfdGetTileConfig {
  static constexpr auto kName = "GET_TILE_CONFIG";
  static constexpr auto kDirection = IoctlDirection::ReadWrite;
  static constexpr char kType = 'K';
  static constexpr u8 kNumber = 0x12;
  u64 tile_config_ptr = 0, macro_tile_config_ptr = 0;
  u32 num_tile_configs = 0, num_macro_tile_configs = 0;
  u32 gpu_id = 0, gb_addr_config = 0, num_banks = 0, num_ranks = 0;
  static void fields(auto& p, auto f) {
    f("tile_config_ptr", p.tile_config_ptr);
    f("macro_tile_config_ptr", p.macro_tile_config_ptr);
    f("num_tile_configs", p.num_tile_configs);
    f("num_macro_tile_configs", p.num_macro_tile_configs);
    f("gpu_id", p.gpu_id);
    f("gb_addr_config", p.gb_addr_config);
    f("num_banks", p.num_banks);
    f("num_ranks", p.num_ranks);
  }
};

// [kfd_ioctl_set_trap_handler_args]
struct KfdSetTrapHandler {
  static constexpr auto kName = "SET_TRAP_HANDLER";
  static constexpr auto kDirection = IoctlDirection::Write;
  static constexpr char kType = 'K';
  static constexpr u8 kNumber = 0x13;
  u64 tba_addr = 0, tma_addr = 0;
  u32 gpu_id = 0, pad = 0;
  static void fields(auto& p, auto f) {
    f("tba_addr", p.tba_addr);
    f("tma_addr", p.tma_addr);
    f("gpu_id", p.gpu_id);
    f("pad", p.pad);
  }
};

// [kfd_ioctl_set_xnack_mode_args]: -1 asks, 0 and 1 set.
struct KfdSetXnackMode {
  static constexpr auto kName = "SET_XNACK_MODE";
  static constexpr auto kDirection = IoctlDirection::ReadWrite;
  static constexpr char kType = 'K';
  static constexpr u8 kNumber = 0x21;
  i32 xnack_enabled = 0;
  static void fields(auto& p, auto f) { f("xnack_enabled", p.xnack_enabled); }
};

// A file descriptor of system management events: thermal, resets, faults.
// [kfd_ioctl_smi_events_args]
struct KfdSmiEvents {
  static constexpr auto kName = "SMI_EVENTS";
  static constexpr auto kDirection = IoctlDirection::ReadWrite;
  static constexpr char kType = 'K';
  static constexpr u8 kNumber = 0x1f;
  u32 gpuid = 0, anon_fd = 0;
  static void fields(auto& p, auto f) {
    f("gpuid", p.gpuid);
    f("anon_fd", p.anon_fd);
  }
};

// For mode_mask. [KFD_RUNTIME_ENABLE_MODE_*]
inline constexpr u32 kKfdRuntimeEnable = 1, kKfdRuntimeTtmpSave = 2;
// Says that this process drives the GPU: trap temporaries are set up, queues are debuggable.
// [kfd_ioctl_runtime_enable_args]
struct KfdRuntimeEnable {
  static constexpr auto kName = "RUNTIME_ENABLE";
  static constexpr auto kDirection = IoctlDirection::ReadWrite;
  static constexpr char kType = 'K';
  static constexpr u8 kNumber = 0x25;
  u64 r_debug = 0;
  u32 mode_mask = 0, capabilities_mask = 0;
  static void fields(auto& p, auto f) {
    f("r_debug", p.r_debug);
    f("mode_mask", p.mode_mask);
    f("capabilities_mask", p.capabilities_mask);
  }
};

}  // namespace doorbell::amd::hw
