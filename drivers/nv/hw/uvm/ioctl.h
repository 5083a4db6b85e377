// The ioctls of /dev/nvidia-uvm, NVIDIA's unified memory driver, which owns the page tables of the
// address spaces that are registered with it. An ioctl's number is its request; it fails by
// rmStatus.
// [NVIDIA/open-gpu-kernel-modules kernel-open/nvidia-uvm/uvm_ioctl.h, uvm_linux_ioctl.h,
// uvm_types.h]
#pragma once

#include "drivers/nv/hw/rm/abi.h"

namespace doorbell::nv::hw {

using GpuUuid = std::array<u8, 16>;

// [UVM_INITIALIZE_PARAMS, uvm_linux_ioctl.h]
struct UvmInitialize {
  static constexpr auto kName = "UVM_INITIALIZE_PARAMS";
  static constexpr u32 kRequest = 0x30000001;
  u64 flags = 0;
  u32 rm_status = 0;
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("flags", p.flags);
    f("rmStatus", p.rm_status);
  }
};

// Of a second file, so that memory outlives the first. [UVM_MM_INITIALIZE_PARAMS]
struct UvmMmInitialize {
  static constexpr auto kName = "UVM_MM_INITIALIZE_PARAMS";
  static constexpr u32 kRequest = 75;
  i32 uvm_fd = -1;
  u32 rm_status = 0;
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("uvmFd", p.uvm_fd);
    f("rmStatus", p.rm_status);
  }
};

// [UVM_REGISTER_GPU_PARAMS]
struct UvmRegisterGpu {
  static constexpr auto kName = "UVM_REGISTER_GPU_PARAMS";
  static constexpr u32 kRequest = 37;
  GpuUuid gpu_uuid{};
  bool numa_enabled = false;  // from
  i32 numa_node_id = 0;       // from
  i32 rm_ctrl_fd = -1;        // these two for MIG only
  u32 client = 0;
  u32 smc_part_ref = 0;
  u32 rm_status = 0;
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("uuid", p.gpu_uuid);
    f("numaEnabled", p.numa_enabled);
    f("numaNodeId", p.numa_node_id);
    f("rmCtrlFd", p.rm_ctrl_fd);
    f("hClient", p.client);
    f("hSmcPartRef", p.smc_part_ref);
    f("rmStatus", p.rm_status);
  }
};

// [UVM_UNREGISTER_GPU_PARAMS]
struct UvmUnregisterGpu {
  static constexpr auto kName = "UVM_UNREGISTER_GPU_PARAMS";
  static constexpr u32 kRequest = 38;
  GpuUuid gpu_uuid{};
  u32 rm_status = 0;
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("uuid", p.gpu_uuid);
    f("rmStatus", p.rm_status);
  }
};

// UVM takes over an address space of RM's (FERMI_VASPACE_A, externally owned).
// [UVM_REGISTER_GPU_VASPACE_PARAMS]
struct UvmRegisterGpuVaSpace {
  static constexpr auto kName = "UVM_REGISTER_GPU_VASPACE_PARAMS";
  static constexpr u32 kRequest = 25;
  GpuUuid gpu_uuid{};
  i32 rm_ctrl_fd = -1;
  u32 client = 0, va_space = 0;
  u32 rm_status = 0;
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("uuid", p.gpu_uuid);
    f("rmCtrlFd", p.rm_ctrl_fd);
    f("hClient", p.client);
    f("hVaSpace", p.va_space);
    f("rmStatus", p.rm_status);
  }
};

// [UVM_UNREGISTER_GPU_VASPACE_PARAMS]
struct UvmUnregisterGpuVaSpace {
  static constexpr auto kName = "UVM_UNREGISTER_GPU_VASPACE_PARAMS";
  static constexpr u32 kRequest = 26;
  GpuUuid gpu_uuid{};
  u32 rm_status = 0;
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("uuid", p.gpu_uuid);
    f("rmStatus", p.rm_status);
  }
};

// UVM needs to know where RM put a channel's own resources. [UVM_REGISTER_CHANNEL_PARAMS]
struct UvmRegisterChannel {
  static constexpr auto kName = "UVM_REGISTER_CHANNEL_PARAMS";
  static constexpr u32 kRequest = 27;
  GpuUuid gpu_uuid{};
  i32 rm_ctrl_fd = -1;
  u32 client = 0, channel = 0;
  u64 base = 0, length = 0;  // addresses that UVM may map the resources at
  u32 rm_status = 0;
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("uuid", p.gpu_uuid);
    f("rmCtrlFd", p.rm_ctrl_fd);
    f("hClient", p.client);
    f("hChannel", p.channel);
    f("base", p.base);
    f("length", p.length);
    f("rmStatus", p.rm_status);
  }
};

// [UVM_UNREGISTER_CHANNEL_PARAMS]
struct UvmUnregisterChannel {
  static constexpr auto kName = "UVM_UNREGISTER_CHANNEL_PARAMS";
  static constexpr u32 kRequest = 28;
  GpuUuid gpu_uuid{};
  u32 client = 0, channel = 0;
  u32 rm_status = 0;
  static constexpr void fields(auto& p, DriverAbi abi, auto f) {
    if (abi < DriverAbi::R590) f("uuid", p.gpu_uuid);
    f("hClient", p.client);
    f("hChannel", p.channel);
    f("rmStatus", p.rm_status);
  }
};

// A range of addresses that nobody but UVM_MAP_EXTERNAL_ALLOCATION maps.
// [UVM_CREATE_EXTERNAL_RANGE_PARAMS]
struct UvmCreateExternalRange {
  static constexpr auto kName = "UVM_CREATE_EXTERNAL_RANGE_PARAMS";
  static constexpr u32 kRequest = 73;
  u64 base = 0, length = 0;  // multiples of 4 KiB
  u32 rm_status = 0;
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("base", p.base);
    f("length", p.length);
    f("rmStatus", p.rm_status);
  }
};

// [uvm_types.h UvmGpuMappingAttributes]
struct UvmMappingAttributes {
  static constexpr auto kName = "UvmGpuMappingAttributes";
  GpuUuid gpu_uuid{};
  u32 mapping_type = 0, caching_type = 0, format_type = 0, element_bits = 0, compression_type = 0;
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("uuid", p.gpu_uuid);
    f("gpuMappingType", p.mapping_type);
    f("gpuCachingType", p.caching_type);
    f("gpuFormatType", p.format_type);
    f("gpuElementBits", p.element_bits);
    f("gpuCompressionType", p.compression_type);
  }
};
// [kernel-open/common/inc/nv_uvm_user_types.h UvmGpuMappingType]
inline constexpr u32 kUvmMappingReadWriteAtomic = 1, kUvmMappingReadWrite = 2,
                     kUvmMappingReadOnly = 3;

// Maps an object of RM's memory for GPUs. [UVM_MAP_EXTERNAL_ALLOCATION_PARAMS; UVM_MAX_GPUS is 256]
struct UvmMapExternalAllocation {
  static constexpr auto kName = "UVM_MAP_EXTERNAL_ALLOCATION_PARAMS";
  static constexpr u32 kRequest = 33;
  u64 base = 0, length = 0, offset = 0;
  std::array<UvmMappingAttributes, 256> gpu_attributes{};
  u64 gpu_attributes_count = 0;
  i32 rm_ctrl_fd = -1;
  u32 client = 0, memory = 0;
  u32 rm_status = 0;
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("base", p.base);
    f("length", p.length);
    f("offset", p.offset);
    f("perGpuAttributes", p.gpu_attributes);
    f("gpuAttributesCount", p.gpu_attributes_count);
    f("rmCtrlFd", p.rm_ctrl_fd);
    f("hClient", p.client);
    f("hMemory", p.memory);
    f("rmStatus", p.rm_status);
  }
};

// [UVM_UNMAP_EXTERNAL_PARAMS]
struct UvmUnmapExternal {
  static constexpr auto kName = "UVM_UNMAP_EXTERNAL_PARAMS";
  static constexpr u32 kRequest = 66;
  u64 base = 0, length = 0;
  GpuUuid gpu_uuid{};
  u32 rm_status = 0;
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("base", p.base);
    f("length", p.length);
    f("uuid", p.gpu_uuid);
    f("rmStatus", p.rm_status);
  }
};

// A whole range and its mappings. [UVM_FREE_PARAMS]
struct UvmFree {
  static constexpr auto kName = "UVM_FREE_PARAMS";
  static constexpr u32 kRequest = 34;
  u64 base = 0, length = 0;
  u32 rm_status = 0;
  static constexpr void fields(auto& p, DriverAbi abi, auto f) {
    f("base", p.base);
    if (abi < DriverAbi::R590) f("length", p.length);
    f("rmStatus", p.rm_status);
  }
};

// [UVM_ENABLE_PEER_ACCESS_PARAMS]
struct UvmEnablePeerAccess {
  static constexpr auto kName = "UVM_ENABLE_PEER_ACCESS_PARAMS";
  static constexpr u32 kRequest = 29;
  GpuUuid gpu_uuid_a{}, gpu_uuid_b{};
  u32 rm_status = 0;
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("uuid", p.gpu_uuid_a);
    f("uuid", p.gpu_uuid_b);
    f("rmStatus", p.rm_status);
  }
};

// [UVM_DISABLE_PEER_ACCESS_PARAMS]
struct UvmDisablePeerAccess {
  static constexpr auto kName = "UVM_DISABLE_PEER_ACCESS_PARAMS";
  static constexpr u32 kRequest = 30;
  GpuUuid gpu_uuid_a{}, gpu_uuid_b{};
  u32 rm_status = 0;
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("uuid", p.gpu_uuid_a);
    f("uuid", p.gpu_uuid_b);
    f("rmStatus", p.rm_status);
  }
};

}  // namespace doorbell::nv::hw
