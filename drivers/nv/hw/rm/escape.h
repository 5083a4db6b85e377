// The ioctls ("escapes") of /dev/nvidiactl and /dev/nvidiaN: objects of NVIDIA's resource manager
// (RM) are allocated, controlled, mapped and freed by handles that the client chooses. An escape
// succeeds as an ioctl and fails by its `status`.
// [NVIDIA/open-gpu-kernel-modules src/nvidia/arch/nvalloc/unix/include/nv_escape.h,
// nv-ioctl-numbers.h, nv-ioctl.h; src/common/sdk/nvidia/inc/nvos.h]
#pragma once

#include "drivers/nv/hw/rm/abi.h"

namespace doorbell::nv::hw {

// NV_IOCTL_MAGIC, and the first number of the kernel interface's own escapes (NV_IOCTL_BASE); those
// below are RM's.
inline constexpr char kEscapeType = 'F';

// The GPUs of the machine; an ioctl with up to 32 of these. [nv-ioctl.h nv_ioctl_card_info_t,
// nv_pci_info_t]
struct CardInfo {
  static constexpr auto kName = "nv_ioctl_card_info_t";
  static constexpr u8 kEscape = 0xc8;  // NV_ESC_CARD_INFO
  bool valid = false;
  u32 domain = 0;
  u8 bus = 0, slot = 0, function = 0;
  u16 vendor_id = 0, device_id = 0;
  u32 gpu_id = 0;
  u16 interrupt_line = 0;
  u64 reg_address = 0, reg_size = 0, fb_address = 0, fb_size = 0;
  u32 minor_number = 0;  // of /dev/nvidiaN
  std::array<u8, 10> dev_name{};

  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("valid", p.valid);
    f("domain", p.domain);
    f("bus", p.bus);
    f("slot", p.slot);
    f("function", p.function);
    f("vendor_id", p.vendor_id);
    f("device_id", p.device_id);
    f("gpu_id", p.gpu_id);
    f("interrupt_line", p.interrupt_line);
    f("reg_address", p.reg_address);
    f("reg_size", p.reg_size);
    f("fb_address", p.fb_address);
    f("fb_size", p.fb_size);
    f("minor_number", p.minor_number);
    f("dev_name", p.dev_name);
  }
};

// Ties a file of /dev/nvidiaN to the client of /dev/nvidiactl. [nv-ioctl.h nv_ioctl_register_fd_t]
struct RegisterFd {
  static constexpr auto kName = "nv_ioctl_register_fd_t";
  static constexpr u8 kEscape = 0xc9;  // NV_ESC_REGISTER_FD
  i32 ctl_fd = -1;
  static constexpr void fields(auto& p, DriverAbi, auto f) { f("ctl_fd", p.ctl_fd); }
};

// Makes the file that it is called on one that is ready when RM signals events; events name it by
// `fd`. [nv-ioctl.h nv_ioctl_alloc_os_event_t; osapi.c allocate_os_event()]
struct AllocOsEvent {
  static constexpr auto kName = "nv_ioctl_alloc_os_event_t";
  static constexpr u8 kEscape = 0xce;  // NV_ESC_ALLOC_OS_EVENT
  u32 client = 0, device = 0;
  u32 fd = 0;
  u32 status = 0;
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("hClient", p.client);
    f("hDevice", p.device);
    f("fd", p.fd);
    f("Status", p.status);
  }
};

// [nvos.h NVOS00_PARAMETERS]
struct RmFree {
  static constexpr auto kName = "NVOS00_PARAMETERS";
  static constexpr u8 kEscape = 0x29;  // NV_ESC_RM_FREE
  u32 root = 0, object_parent = 0, object_old = 0;
  u32 status = 0;
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("hRoot", p.root);
    f("hObjectParent", p.object_parent);
    f("hObjectOld", p.object_old);
    f("status", p.status);
  }
};

// An object of a class under a parent; parameters as the class has them, see object.h. [nvos.h
// NVOS21_PARAMETERS]
struct RmAlloc {
  static constexpr auto kName = "NVOS21_PARAMETERS";
  static constexpr u8 kEscape = 0x2b;  // NV_ESC_RM_ALLOC
  u32 root = 0, object_parent = 0, object_new = 0, class_id = 0;
  u64 params = 0;
  u32 params_size = 0;
  u32 status = 0;
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("hRoot", p.root);
    f("hObjectParent", p.object_parent);
    f("hObjectNew", p.object_new);
    f("hClass", p.class_id);
    f("pAllocParms", p.params);
    f("paramsSize", p.params_size);
    f("status", p.status);
  }
};

// A command to an object; parameters: control.h. [nvos.h NVOS54_PARAMETERS]
struct RmControl {
  static constexpr auto kName = "NVOS54_PARAMETERS";
  static constexpr u8 kEscape = 0x2a;  // NV_ESC_RM_CONTROL
  u32 client = 0, object = 0, cmd = 0, flags = 0;
  u64 params = 0;
  u32 params_size = 0;  // refused unless it is the command's
  u32 status = 0;
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("hClient", p.client);
    f("hObject", p.object);
    f("cmd", p.cmd);
    f("flags", p.flags);
    f("params", p.params);
    f("paramsSize", p.params_size);
    f("status", p.status);
  }
};

// Memory that the process already has, as an object. [nv-ioctl.h
// nv_ioctl_nvos02_parameters_with_fd, nvos.h NVOS02_PARAMETERS]
struct RmAllocMemory {
  static constexpr auto kName = "nv_ioctl_nvos02_parameters_with_fd";
  static constexpr u8 kEscape = 0x27;  // NV_ESC_RM_ALLOC_MEMORY
  struct Params {
    u32 root = 0, object_parent = 0, object_new = 0, class_id = 0;
    u32 flags = 0;
    u64 memory = 0;
    u64 limit = 0;  // bytes - 1
    u32 status = 0;
    static constexpr void fields(auto& p, DriverAbi, auto f) {
      f("hRoot", p.root);
      f("hObjectParent", p.object_parent);
      f("hObjectNew", p.object_new);
      f("hClass", p.class_id);
      f("flags", p.flags);
      f("pMemory", p.memory);
      f("limit", p.limit);
      f("status", p.status);
    }
  };
  Params params;
  i32 fd = -1;
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("params", p.params);
    f("fd", p.fd);
  }
};
// [nvos.h NVOS02_FLAGS_PHYSICALITY 7:4, COHERENCY 15:12, MAPPING 31:30]
inline constexpr u32 kOs02Noncontiguous = 1u << 4, kOs02Cached = 1u << 12, kOs02NoMap = 1u << 30;

// Makes a dma-buf of memory objects of one GPU, called on a file of that GPU: a new one where `fd`
// is -1, which then gets its descriptor; else the objects are added to that of `fd`. The client is
// not that of the file. [nv-ioctl.h nv_ioctl_export_to_dma_buf_fd_t; kernel-open/nvidia/nv-dmabuf.c
// nv_dma_buf_export(); gVisor pkg/abi/nvgpu/frontend.go IoctlExportToDMABufFD_V570, _V580]
struct ExportDmabuf {
  static constexpr auto kName = "nv_ioctl_export_to_dma_buf_fd_t";
  static constexpr u8 kEscape = 0xd9;  // NV_ESC_EXPORT_TO_DMABUF_FD
  static constexpr u32 kMaxHandles = 128;
  // NV_DMABUF_EXPORT_MAPPING_TYPE_*: importers map it as the kernel likes, or through PCIe.
  static constexpr u8 kDefault = 0, kForcePcie = 1;
  i32 fd = -1;
  u32 client = 0;
  // Of the dma-buf in all calls together, of this call, and the place of its first.
  u32 total_objects = 0, num_objects = 0, index = 0;
  u64 total_size = 0;
  u8 mapping_type = kDefault;
  bool allow_mmap = false;
  std::array<u32, kMaxHandles> handles{};
  std::array<u64, kMaxHandles> offsets{}, sizes{};
  u32 status = 0;
  static constexpr void fields(auto& p, DriverAbi abi, auto f) {
    f("fd", p.fd);
    f("hClient", p.client);
    f("totalObjects", p.total_objects);
    f("numObjects", p.num_objects);
    f("index", p.index);
    f("totalSize", p.total_size);
    f("mappingType", p.mapping_type);
    if (abi >= DriverAbi::R580) f("bAllowMmap", p.allow_mmap);
    f("handles", p.handles);
    f("offsets", p.offsets);
    f("sizes", p.sizes);
    f("status", p.status);
  }
};

// Prepares a mapping of an object for the CPU: mmap() of `fd`, a fresh file of /dev/nvidiaN, makes
// it. [nv-ioctl.h nv_ioctl_nvos33_parameters_with_fd, nvos.h NVOS33_PARAMETERS]
struct RmMapMemory {
  static constexpr auto kName = "nv_ioctl_nvos33_parameters_with_fd";
  static constexpr u8 kEscape = 0x4e;  // NV_ESC_RM_MAP_MEMORY
  struct Params {
    u32 client = 0, device = 0, memory = 0;
    u64 offset = 0, length = 0;
    u64 linear_address = 0;  // from
    u32 status = 0;
    u32 flags = 0;
    static constexpr void fields(auto& p, DriverAbi, auto f) {
      f("hClient", p.client);
      f("hDevice", p.device);
      f("hMemory", p.memory);
      f("offset", p.offset);
      f("length", p.length);
      f("pLinearAddress", p.linear_address);
      f("status", p.status);
      f("flags", p.flags);
    }
  };
  Params params;
  i32 fd = -1;
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("params", p.params);
    f("fd", p.fd);
  }
};
// [nvos.h NVOS33_FLAGS_CACHING_TYPE 25:23]
inline constexpr u32 kOs33WriteCombined = 2u << 23;

// [nvos.h NVOS34_PARAMETERS]
struct RmUnmapMemory {
  static constexpr auto kName = "NVOS34_PARAMETERS";
  static constexpr u8 kEscape = 0x4f;  // NV_ESC_RM_UNMAP_MEMORY
  u32 client = 0, device = 0, memory = 0;
  u64 linear_address = 0;
  u32 status = 0;
  u32 flags = 0;
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("hClient", p.client);
    f("hDevice", p.device);
    f("hMemory", p.memory);
    f("pLinearAddress", p.linear_address);
    f("status", p.status);
    f("flags", p.flags);
  }
};

// Maps memory of RM's into an address space that RM owns. [nvos.h NVOS46_PARAMETERS]
struct RmMapMemoryDma {
  static constexpr auto kName = "NVOS46_PARAMETERS";
  static constexpr u8 kEscape = 0x57;  // NV_ESC_RM_MAP_MEMORY_DMA
  u32 client = 0, device = 0, dma = 0, memory = 0;
  u64 offset = 0, length = 0;
  u32 flags = 0, flags2 = 0, kind_override = 0;
  u64 dma_offset = 0;  // to, with a fixed offset; else from
  u32 status = 0;
  static constexpr void fields(auto& p, DriverAbi abi, auto f) {
    f("hClient", p.client);
    f("hDevice", p.device);
    f("hDma", p.dma);
    f("hMemory", p.memory);
    f("offset", p.offset);
    f("length", p.length);
    f("flags", p.flags);
    if (abi >= DriverAbi::R580) f("flags2", p.flags2);
    if (abi >= DriverAbi::R580) f("kindOverride", p.kind_override);
    f("dmaOffset", p.dma_offset);
    f("status", p.status);
  }
};

// [nvos.h NVOS47_PARAMETERS]
struct RmUnmapMemoryDma {
  static constexpr auto kName = "NVOS47_PARAMETERS";
  static constexpr u8 kEscape = 0x58;  // NV_ESC_RM_UNMAP_MEMORY_DMA
  u32 client = 0, device = 0, dma = 0, memory = 0;
  u32 flags = 0;
  u64 dma_offset = 0, size = 0;
  u32 status = 0;
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("hClient", p.client);
    f("hDevice", p.device);
    f("hDma", p.dma);
    f("hMemory", p.memory);
    f("flags", p.flags);
    f("dmaOffset", p.dma_offset);
    f("size", p.size);
    f("status", p.status);
  }
};

}  // namespace doorbell::nv::hw
