// KFD ioctls about memory. Layouts as in kfd/process.h.
// [torvalds/linux include/uapi/linux/kfd_ioctl.h]
#pragma once

#include "drivers/amd/hw/ioctl.h"

namespace doorbell::amd::hw {

// What is allocated, and how it may be used. [KFD_IOC_ALLOC_MEM_FLAGS_*]
inline constexpr u32 kKfdMemVram = 0x0000'0001, kKfdMemGtt = 0x0000'0002,
                     kKfdMemUserptr = 0x0000'0004, kKfdMemDoorbell = 0x0000'0008,
                     kKfdMemMmioRemap = 0x0000'0010;
// COHERENT, EXT_COHERENT and UNCACHED become the page tables' MTYPE, chip by chip: docs/hw/amd.md.
inline constexpr u32 kKfdMemWritable = 0x8000'0000, kKfdMemExecutable = 0x4000'0000,
                     kKfdMemPublic = 0x2000'0000, kKfdMemNoSubstitute = 0x1000'0000,
                     kKfdMemAqlQueue = 0x0800'0000, kKfdMemCoherent = 0x0400'0000,
                     kKfdMemUncached = 0x0200'0000, kKfdMemExtCoherent = 0x0100'0000,
                     kKfdMemContiguous = 0x0080'0000;

// [kfd_ioctl_alloc_memory_of_gpu_args]
struct KfdAllocMemory {
  static constexpr auto kName = "ALLOC_MEMORY_OF_GPU";
  static constexpr auto kDirection = IoctlDirection::ReadWrite;
  static constexpr char kType = 'K';
  static constexpr u8 kNumber = 0x16;
  u64 va_addr = 0, size = 0;
  u64 handle = 0;       // from
  u64 mmap_offset = 0;  // to: the host's address, of a userptr; from: for mmap of the render node
  u32 gpu_id = 0, flags = 0;
  static void fields(auto& p, auto f) {
    f("va_addr", p.va_addr);
    f("size", p.size);
    f("handle", p.handle);
    f("mmap_offset", p.mmap_offset);
    f("gpu_id", p.gpu_id);
    f("flags", p.flags);
  }
};

// [kfd_ioctl_free_memory_of_gpu_args]
struct KfdFreeMemory {
  static constexpr auto kName = "FREE_MEMORY_OF_GPU";
  static constexpr auto kDirection = IoctlDirection::Write;
  static constexpr char kType = 'K';
  static constexpr u8 kNumber = 0x17;
  u64 handle = 0;
  static void fields(auto& p, auto f) { f("handle", p.handle); }
};

// n_success counts from the front of the array, across retries.
// [kfd_ioctl_map_memory_to_gpu_args]
struct KfdMapMemory {
  static constexpr auto kName = "MAP_MEMORY_TO_GPU";
  static constexpr auto kDirection = IoctlDirection::ReadWrite;
  static constexpr char kType = 'K';
  static constexpr u8 kNumber = 0x18;
  u64 handle = 0, device_ids_array_ptr = 0;
  u32 n_devices = 0, n_success = 0;
  static void fields(auto& p, auto f) {
    f("handle", p.handle);
    f("device_ids_array_ptr", p.device_ids_array_ptr);
    f("n_devices", p.n_devices);
    f("n_success", p.n_success);
  }
};

// [kfd_ioctl_unmap_memory_from_gpu_args]
struct KfdUnmapMemory {
  static constexpr auto kName = "UNMAP_MEMORY_FROM_GPU";
  static constexpr auto kDirection = IoctlDirection::ReadWrite;
  static constexpr char kType = 'K';
  static constexpr u8 kNumber = 0x19;
  u64 handle = 0, device_ids_array_ptr = 0;
  u32 n_devices = 0, n_success = 0;
  static void fields(auto& p, auto f) {
    f("handle", p.handle);
    f("device_ids_array_ptr", p.device_ids_array_ptr);
    f("n_devices", p.n_devices);
    f("n_success", p.n_success);
  }
};

// [kfd_ioctl_get_available_memory_args]
struct KfdAvailableMemory {
  static constexpr auto kName = "AVAILABLE_MEMORY";
  static constexpr auto kDirection = IoctlDirection::ReadWrite;
  static constexpr char kType = 'K';
  static constexpr u8 kNumber = 0x23;
  u64 available = 0;  // from
  u32 gpu_id = 0, pad = 0;
  static void fields(auto& p, auto f) {
    f("available", p.available);
    f("gpu_id", p.gpu_id);
    f("pad", p.pad);
  }
};

// [kfd_ioctl_get_dmabuf_info_args]
struct KfdGetDmabufInfo {
  static constexpr auto kName = "GET_DMABUF_INFO";
  static constexpr auto kDirection = IoctlDirection::ReadWrite;
  static constexpr char kType = 'K';
  static constexpr u8 kNumber = 0x1c;
  u64 size = 0;          // from
  u64 metadata_ptr = 0;  // to
  u32 metadata_size = 0, gpu_id = 0, flags = 0;
  u32 dmabuf_fd = 0;  // to
  static void fields(auto& p, auto f) {
    f("size", p.size);
    f("metadata_ptr", p.metadata_ptr);
    f("metadata_size", p.metadata_size);
    f("gpu_id", p.gpu_id);
    f("flags", p.flags);
    f("dmabuf_fd", p.dmabuf_fd);
  }
};

// [kfd_ioctl_import_dmabuf_args]
struct KfdImportDmabuf {
  static constexpr auto kName = "IMPORT_DMABUF";
  static constexpr auto kDirection = IoctlDirection::ReadWrite;
  static constexpr char kType = 'K';
  static constexpr u8 kNumber = 0x1d;
  u64 va_addr = 0;
  u64 handle = 0;  // from
  u32 gpu_id = 0, dmabuf_fd = 0;
  static void fields(auto& p, auto f) {
    f("va_addr", p.va_addr);
    f("handle", p.handle);
    f("gpu_id", p.gpu_id);
    f("dmabuf_fd", p.dmabuf_fd);
  }
};

// [kfd_ioctl_export_dmabuf_args], since 1.12
struct KfdExportDmabuf {
  static constexpr auto kName = "EXPORT_DMABUF";
  static constexpr auto kDirection = IoctlDirection::ReadWrite;
  static constexpr char kType = 'K';
  static constexpr u8 kNumber = 0x24;
  u64 handle = 0;
  u32 flags = 0;      // of the file descriptor
  u32 dmabuf_fd = 0;  // from
  static void fields(auto& p, auto f) {
    f("handle", p.handle);
    f("flags", p.flags);
    f("dmabuf_fd", p.dmabuf_fd);
  }
};

}  // namespace doorbell::amd::hw
