// The parameters with which RM's objects are allocated, by class. Classes of engines and channels:
// class_id.h. Handles are u32.
// [NVIDIA/open-gpu-kernel-modules src/common/sdk/nvidia/inc/class/cl*.h, nvos.h,
// alloc/alloc_channel.h; sizes and offsets of releases: tests/drivers/nv/hw/data/rm_layouts.txt]
#pragma once

#include "drivers/nv/hw/rm/abi.h"

namespace doorbell::nv::hw {

// Classes of objects without an engine.
inline constexpr u32 kRootClient = 0x41;                // NV01_ROOT_CLIENT
inline constexpr u32 kMemorySystem = 0x3e;              // NV01_MEMORY_SYSTEM
inline constexpr u32 kMemoryLocalUser = 0x40;           // NV01_MEMORY_LOCAL_USER: video memory
inline constexpr u32 kMemorySystemOsDescriptor = 0x71;  // NV01_MEMORY_SYSTEM_OS_DESCRIPTOR
inline constexpr u32 kEventOsEvent = 0x79;              // NV01_EVENT_OS_EVENT

// NV01_DEVICE_0. [class/cl0080.h]
struct DeviceParameters {
  static constexpr auto kName = "NV0080_ALLOC_PARAMETERS";
  static constexpr u32 kClass = 0x80;
  u32 device_id = 0, client_share = 0, target_client = 0, target_device = 0, flags = 0;
  u64 va_space_size = 0, va_start_internal = 0, va_limit_internal = 0;
  u32 va_mode = 0;  // 0: NV_DEVICE_ALLOCATION_VAMODE_OPTIONAL_MULTIPLE_VASPACES
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("deviceId", p.device_id);
    f("hClientShare", p.client_share);
    f("hTargetClient", p.target_client);
    f("hTargetDevice", p.target_device);
    f("flags", p.flags);
    f("vaSpaceSize", p.va_space_size);
    f("vaStartInternal", p.va_start_internal);
    f("vaLimitInternal", p.va_limit_internal);
    f("vaMode", p.va_mode);
  }
};

// NV20_SUBDEVICE_0. [class/cl2080.h]
struct SubdeviceParameters {
  static constexpr auto kName = "NV2080_ALLOC_PARAMETERS";
  static constexpr u32 kClass = 0x2080;
  u32 sub_device_id = 0;
  static constexpr void fields(auto& p, DriverAbi, auto f) { f("subDeviceId", p.sub_device_id); }
};

// NV01_MEMORY_SYSTEM and NV01_MEMORY_LOCAL_USER. [nvos.h NV_MEMORY_ALLOCATION_PARAMS]
struct MemoryParameters {
  static constexpr auto kName = "NV_MEMORY_ALLOCATION_PARAMS";
  u32 owner = 0, type = 0, flags = 0, width = 0, height = 0;
  i32 pitch = 0;
  u32 attr = 0, attr2 = 0, format = 0, compr_covg = 0, zcull_covg = 0;
  u64 range_lo = 0, range_hi = 0, size = 0, alignment = 0, offset = 0, limit = 0, address = 0;
  u32 ctag_offset = 0, va_space = 0, internal_flags = 0, tag = 0;
  i32 numa_node = 0;
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("owner", p.owner);
    f("type", p.type);
    f("flags", p.flags);
    f("width", p.width);
    f("height", p.height);
    f("pitch", p.pitch);
    f("attr", p.attr);
    f("attr2", p.attr2);
    f("format", p.format);
    f("comprCovg", p.compr_covg);
    f("zcullCovg", p.zcull_covg);
    f("rangeLo", p.range_lo);
    f("rangeHi", p.range_hi);
    f("size", p.size);
    f("alignment", p.alignment);
    f("offset", p.offset);
    f("limit", p.limit);
    f("address", p.address);
    f("ctagOffset", p.ctag_offset);
    f("hVASpace", p.va_space);
    f("internalflags", p.internal_flags);
    f("tag", p.tag);
    f("numaNode", p.numa_node);
  }
};
inline constexpr u32 kOs32TypeImage = 0, kOs32TypeNotifier = 13;  // NVOS32_TYPE_*
// [nvos.h NVOS32_ALLOC_FLAGS_*]
inline constexpr u32 kOs32AlignmentForce = 0x100, kOs32MemoryHandleProvided = 0x4000,
                     kOs32MapNotRequired = 0x8000, kOs32PersistentVidmem = 0x10000;
// [nvos.h NVOS32_ATTR_PAGE_SIZE 24:23, LOCATION 26:25, PHYSICALITY 28:27, COHERENCY 31:29]
inline constexpr u32 kOs32PageSize4K = 1u << 23, kOs32PageSizeBig = 2u << 23,
                     kOs32PageSizeHuge = 3u << 23, kOs32LocationPci = 1u << 25,
                     kOs32Noncontiguous = 1u << 27, kOs32Contiguous = 2u << 27,
                     kOs32AllowNoncontiguous = 3u << 27, kOs32Cached = 1u << 29,
                     kOs32WriteCombine = 2u << 29, kOs32WriteBack = 5u << 29;
// [nvos.h NVOS32_ATTR2_GPU_CACHEABLE 3:2, ZBC 1:0, PAGE_SIZE_HUGE 21:20]
inline constexpr u32 kOs32PreferNoZbc = 1, kOs32GpuCacheable = 1u << 2, kOs32GpuUncached = 2u << 2,
                     kOs32Huge2M = 1u << 20;

// NV01_MEMORY_SYSTEM_OS_DESCRIPTOR by RM_ALLOC: memory that the kernel describes. A process may
// describe it by the descriptor of a dma-buf; its own pages need NV_ESC_RM_ALLOC_MEMORY.
// [nvos.h NV_OS_DESC_MEMORY_ALLOCATION_PARAMS; osmemdesc.c osCreateMemFromOsDescriptor()]
struct OsDescriptorParameters {
  static constexpr auto kName = "NV_OS_DESC_MEMORY_ALLOCATION_PARAMS";
  static constexpr u32 kClass = kMemorySystemOsDescriptor;
  static constexpr u32 kFileHandle = 4;  // NVOS32_DESCRIPTOR_TYPE_OS_FILE_HANDLE
  u32 type = 0, flags = 0, attr = 0, attr2 = 0;
  u64 descriptor = 0;
  u64 limit = 0;  // bytes - 1; a dma-buf has its own size
  u32 descriptor_type = 0, tag = 0;
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("type", p.type);
    f("flags", p.flags);
    f("attr", p.attr);
    f("attr2", p.attr2);
    f("descriptor", p.descriptor);
    f("limit", p.limit);
    f("descriptorType", p.descriptor_type);
    f("tag", p.tag);
  }
};

// FERMI_VASPACE_A. [nvos.h NV_VASPACE_ALLOCATION_PARAMETERS]
struct VaSpaceParameters {
  static constexpr auto kName = "NV_VASPACE_ALLOCATION_PARAMETERS";
  static constexpr u32 kClass = 0x90f1;
  static constexpr u32 kExternallyOwned = 1u << 3, kEnablePageFaulting = 1u << 6;
  u32 index = 0, flags = 0;
  u64 va_size = 0, va_start_internal = 0, va_limit_internal = 0;
  u32 big_page_size = 0;
  u64 va_base = 0;
  u32 pasid = 0;
  static constexpr void fields(auto& p, DriverAbi abi, auto f) {
    f("index", p.index);
    f("flags", p.flags);
    f("vaSize", p.va_size);
    f("vaStartInternal", p.va_start_internal);
    f("vaLimitInternal", p.va_limit_internal);
    f("bigPageSize", p.big_page_size);
    f("vaBase", p.va_base);
    if (abi >= DriverAbi::R580) f("pasid", p.pasid);
  }
};

// KEPLER_CHANNEL_GROUP_A: channels that are scheduled together (TSG). [nvos.h
// NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS]
struct ChannelGroupParameters {
  static constexpr auto kName = "NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS";
  static constexpr u32 kClass = 0xa06c;
  static constexpr u32 kGraphics = 1;  // NV2080_ENGINE_TYPE_GRAPHICS
  u32 object_error = 0, object_ecc_error = 0, va_space = 0, engine_type = 0;
  bool is_calling_context_vgpu_plugin = false;
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("hObjectError", p.object_error);
    f("hObjectEccError", p.object_ecc_error);
    f("hVASpace", p.va_space);
    f("engineType", p.engine_type);
    f("bIsCallingContextVgpuPlugin", p.is_calling_context_vgpu_plugin);
  }
};

// FERMI_CONTEXT_SHARE_A: a subcontext of a channel group.
// [nvos.h NV_CTXSHARE_ALLOCATION_PARAMETERS]
struct ContextShareParameters {
  static constexpr auto kName = "NV_CTXSHARE_ALLOCATION_PARAMETERS";
  static constexpr u32 kClass = 0x9067;
  static constexpr u32 kAsync = 1;  // NV_CTXSHARE_ALLOCATION_FLAGS_SUBCONTEXT_ASYNC
  u32 va_space = 0, flags = 0, subctx_id = 0;
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("hVASpace", p.va_space);
    f("flags", p.flags);
    f("subctxId", p.subctx_id);
  }
};

// [nvos.h NV_MEMORY_DESC_PARAMS]
struct MemoryDescription {
  static constexpr auto kName = "NV_MEMORY_DESC_PARAMS";
  u64 base = 0, size = 0;
  u32 address_space = 0, cache_attrib = 0;
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("base", p.base);
    f("size", p.size);
    f("addressSpace", p.address_space);
    f("cacheAttrib", p.cache_attrib);
  }
};

// The channel classes. Fields after object_ecc_error are RM's own. [alloc/alloc_channel.h
// NV_CHANNEL_ALLOC_PARAMS; NV_MAX_SUBDEVICES is 8]
struct ChannelParameters {
  static constexpr auto kName = "NV_CHANNEL_ALLOC_PARAMS";
  static constexpr usize kMaxSubdevices = 8;
  u32 object_error = 0, object_buffer = 0;
  u64 gp_fifo_offset = 0;  // GPU address of the ring
  u32 gp_fifo_entries = 0;
  u32 flags = 0;
  u32 context_share = 0, va_space = 0, handle_va_space = 0;
  std::array<u32, kMaxSubdevices> userd_memory{};
  std::array<u64, kMaxSubdevices> userd_offset{};
  u32 engine_type = 0, cid = 0, sub_device_id = 0, object_ecc_error = 0;
  MemoryDescription instance_mem, userd_mem, ramfc_mem, mthdbuf_mem;
  u32 phys_channel_group = 0, internal_flags = 0;
  MemoryDescription error_notifier_mem, ecc_error_notifier_mem;
  u32 process_id = 0, sub_process_id = 0;
  std::array<u32, 3> encrypt_iv{}, decrypt_iv{};
  std::array<u32, 8> hmac_nonce{};
  u32 tpc_config_id = 0;
  static constexpr void fields(auto& p, DriverAbi abi, auto f) {
    f("hObjectError", p.object_error);
    f("hObjectBuffer", p.object_buffer);
    f("gpFifoOffset", p.gp_fifo_offset);
    f("gpFifoEntries", p.gp_fifo_entries);
    f("flags", p.flags);
    f("hContextShare", p.context_share);
    f("hVASpace", p.va_space);
    if (abi >= DriverAbi::R610) f("hHandleVASpace", p.handle_va_space);
    f("hUserdMemory", p.userd_memory);
    f("userdOffset", p.userd_offset);
    f("engineType", p.engine_type);
    f("cid", p.cid);
    f("subDeviceId", p.sub_device_id);
    f("hObjectEccError", p.object_ecc_error);
    f("instanceMem", p.instance_mem);
    f("userdMem", p.userd_mem);
    f("ramfcMem", p.ramfc_mem);
    f("mthdbufMem", p.mthdbuf_mem);
    f("hPhysChannelGroup", p.phys_channel_group);
    f("internalFlags", p.internal_flags);
    f("errorNotifierMem", p.error_notifier_mem);
    f("eccErrorNotifierMem", p.ecc_error_notifier_mem);
    f("ProcessID", p.process_id);
    f("SubProcessID", p.sub_process_id);
    f("encryptIv", p.encrypt_iv);
    f("decryptIv", p.decrypt_iv);
    f("hmacNonce", p.hmac_nonce);
    f("tpcConfigID", p.tpc_config_id);
  }
};

// HOPPER_USERMODE_A, the page of the doorbell; older usermode classes take no parameters.
// [class/clc661.h NV_HOPPER_USERMODE_A_PARAMS]
struct HopperUsermodeParameters {
  static constexpr auto kName = "NV_HOPPER_USERMODE_A_PARAMS";
  bool bar1_mapping = false;  // write-only, and in order with writes to video memory
  bool priv = false;
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("bBar1Mapping", p.bar1_mapping);
    f("bPriv", p.priv);
  }
};

// NV01_EVENT_OS_EVENT: RM makes a file ready when an object is notified; the file was named in
// NV_ESC_ALLOC_OS_EVENT. An event without data is gone once poll() has reported it.
// [class/cl0005.h; cl2080_notification.h; nvos.h NV01_EVENT_*; kernel-open/nvidia/nv.c
// nvidia_poll(), nv_post_event(); a client: Mesa NVK on nvrm, nvkmd_nvrm_exec_ctx.c]
struct EventParameters {
  static constexpr auto kName = "NV0005_ALLOC_PARAMETERS";
  // NV2080_NOTIFIERS_FIFO_EVENT_MTHD of a subdevice: with kNonStallInterrupt, the non-stall
  // interrupts of all engines that channels feed: NON_STALL_INTERRUPT of the host engine, and of
  // copies. [okm src/nvidia/src/kernel/gpu/intr/intr.c, bDefaultNonstallNotify]
  static constexpr u32 kFifoEvent = 35;
  // In notify_index, above its index in 15:0. [nvos.h NV01_EVENT_NONSTALL_INTR,
  // NV01_EVENT_WITHOUT_EVENT_DATA]
  static constexpr u32 kNonStallInterrupt = 1u << 27, kWithoutData = 1u << 28;
  u32 parent_client = 0, src_resource = 0;  // the object that is notified
  u32 event_class = 0;                      // kEventOsEvent
  u32 notify_index = 0;
  u64 data = 0;  // the file's descriptor
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("hParentClient", p.parent_client);
    f("hSrcResource", p.src_resource);
    f("hClass", p.event_class);
    f("notifyIndex", p.notify_index);
    f("data", p.data);
  }
};

// GT200_DEBUGGER: tells which warps stopped and why. [class/cl83de.h]
struct DebuggerParameters {
  static constexpr auto kName = "NV83DE_ALLOC_PARAMETERS";
  static constexpr u32 kClass = 0x83de;
  u32 debugger_client_obsolete = 0, app_client = 0, class3d_object = 0;
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("hDebuggerClient_Obsolete", p.debugger_client_obsolete);
    f("hAppClient", p.app_client);
    f("hClass3dObject", p.class3d_object);
  }
};

// NV01_MEMORY_VIRTUAL: addresses of the device's own address space. [nvos.h
// NV_MEMORY_VIRTUAL_ALLOCATION_PARAMS]
struct VirtualMemoryParameters {
  static constexpr auto kName = "NV_MEMORY_VIRTUAL_ALLOCATION_PARAMS";
  static constexpr u32 kClass = 0x70;
  u64 offset = 0, limit = 0;
  u32 va_space = 0;
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("offset", p.offset);
    f("limit", p.limit);
    f("hVASpace", p.va_space);
  }
};

}  // namespace doorbell::nv::hw
