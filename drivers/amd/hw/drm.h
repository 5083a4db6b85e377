// The few DRM ioctls of a render node, /dev/dri/renderD*, that compute clients use: who the driver
// is, and INFO. Fields bear the kernel's names; `fields` lists them as in kfd/process.h.
// [libdrm drm.h, amdgpu_drm.h; torvalds/linux include/uapi/drm/]
#pragma once

#include "drivers/amd/hw/ioctl.h"

namespace doorbell::amd::hw {

// Strings are copied to the pointers as far as the lengths allow; lengths come back whole.
// [drm_version, DRM_IOCTL_VERSION]
struct DrmVersion {
  static constexpr auto kName = "VERSION";
  static constexpr auto kDirection = IoctlDirection::ReadWrite;
  static constexpr char kType = 'd';
  static constexpr u8 kNumber = 0x00;
  i32 version_major = 0, version_minor = 0, version_patchlevel = 0;
  u32 pad = 0;
  u64 name_len = 0, name = 0, date_len = 0, date = 0, desc_len = 0, desc = 0;
  static void fields(auto& p, auto f) {
    f("version_major", p.version_major);
    f("version_minor", p.version_minor);
    f("version_patchlevel", p.version_patchlevel);
    f("name_len", p.name_len);
    f("name", p.name);
    f("date_len", p.date_len);
    f("date", p.date);
    f("desc_len", p.desc_len);
    f("desc", p.desc);
  }
};

// [drm_client, DRM_IOCTL_GET_CLIENT]
struct DrmGetClient {
  static constexpr auto kName = "GET_CLIENT";
  static constexpr auto kDirection = IoctlDirection::ReadWrite;
  static constexpr char kType = 'd';
  static constexpr u8 kNumber = 0x05;
  i32 idx = 0, auth = 0;
  u64 pid = 0, uid = 0, magic = 0, iocs = 0;
  static void fields(auto& p, auto f) {
    f("idx", p.idx);
    f("auth", p.auth);
    f("pid", p.pid);
    f("uid", p.uid);
    f("magic", p.magic);
    f("iocs", p.iocs);
  }
};

// [drm_prime_handle, DRM_IOCTL_PRIME_HANDLE_TO_FD and _FD_TO_HANDLE]
struct DrmPrimeHandleToFd {
  static constexpr auto kName = "PRIME_HANDLE_TO_FD";
  static constexpr auto kDirection = IoctlDirection::ReadWrite;
  static constexpr char kType = 'd';
  static constexpr u8 kNumber = 0x2d;
  u32 handle = 0, flags = 0;
  i32 fd = 0;
  static void fields(auto& p, auto f) {
    f("handle", p.handle);
    f("flags", p.flags);
    f("fd", p.fd);
  }
};
struct DrmPrimeFdToHandle {
  static constexpr auto kName = "PRIME_FD_TO_HANDLE";
  static constexpr auto kDirection = IoctlDirection::ReadWrite;
  static constexpr char kType = 'd';
  static constexpr u8 kNumber = 0x2e;
  u32 handle = 0, flags = 0;
  i32 fd = 0;
  static void fields(auto& p, auto f) {
    f("handle", p.handle);
    f("flags", p.flags);
    f("fd", p.fd);
  }
};

// Queries of INFO. [AMDGPU_INFO_*]
inline constexpr u32 kDrmInfoAccelWorking = 0x00, kDrmInfoHwIpInfo = 0x02, kDrmInfoFwVersion = 0x0e,
                     kDrmInfoVramGtt = 0x14, kDrmInfoReadMmrReg = 0x15, kDrmInfoDevInfo = 0x16,
                     kDrmInfoMemory = 0x19;
// [drm_amdgpu_info, DRM_IOCTL_AMDGPU_INFO; the union is what the query needs]
struct DrmAmdgpuInfo {
  static constexpr auto kName = "AMDGPU_INFO";
  static constexpr auto kDirection = IoctlDirection::Write;
  static constexpr char kType = 'd';
  static constexpr u8 kNumber = 0x45;
  u64 return_pointer = 0;
  u32 return_size = 0;  // at most so many bytes are written
  u32 query = 0;
  u32 argument[4] = {};
  static void fields(auto& p, auto f) {
    f("return_pointer", p.return_pointer);
    f("return_size", p.return_size);
    f("query", p.query);
    f("argument_0", p.argument[0]);
    f("argument_1", p.argument[1]);
    f("argument_2", p.argument[2]);
    f("argument_3", p.argument[3]);
  }
};

// The answer to DEV_INFO. Newer kernels add fields at the end; the size asked for cuts.
// [drm_amdgpu_info_device]
struct DrmDeviceInfo {
  u32 device_id = 0, chip_rev = 0, external_rev = 0, pci_rev = 0, family = 0;
  u32 num_shader_engines = 0, num_shader_arrays_per_engine = 0;
  u32 gpu_counter_freq = 0;                        // kHz
  u64 max_engine_clock = 0, max_memory_clock = 0;  // kHz
  u32 cu_active_number = 0, cu_ao_mask = 0;
  u32 cu_bitmap[4][4] = {};
  u32 enabled_rb_pipes_mask = 0, num_rb_pipes = 0, num_hw_gfx_contexts = 0, pcie_gen = 0;
  u64 ids_flags = 0;
  u64 virtual_address_offset = 0, virtual_address_max = 0;
  u32 virtual_address_alignment = 0, pte_fragment_size = 0, gart_page_size = 0, ce_ram_size = 0;
  u32 vram_type = 0, vram_bit_width = 0, vce_harvest_config = 0, gc_double_offchip_lds_buf = 0;
  u64 prim_buf_gpu_addr = 0, pos_buf_gpu_addr = 0, cntl_sb_buf_gpu_addr = 0, param_buf_gpu_addr = 0;
  u32 prim_buf_size = 0, pos_buf_size = 0, cntl_sb_buf_size = 0, param_buf_size = 0;
  u32 wave_front_size = 0, num_shader_visible_vgprs = 0, num_cu_per_sh = 0, num_tcc_blocks = 0;
  u32 gs_vgt_table_depth = 0, gs_prim_buffer_depth = 0, max_gs_waves_per_vgt = 0;
  u32 pcie_num_lanes = 0;
  u32 cu_ao_bitmap[4][4] = {};
  u64 high_va_offset = 0, high_va_max = 0;
  u32 pa_sc_tile_steering_override = 0, pad2 = 0;
  u64 tcc_disabled_mask = 0;
};

// The answer to MEMORY. [drm_amdgpu_heap_info, drm_amdgpu_memory_info]
struct DrmHeapInfo {
  u64 total_heap_size = 0, usable_heap_size = 0, heap_usage = 0, max_allocation = 0;
};
struct DrmMemoryInfo {
  DrmHeapInfo vram, cpu_accessible_vram, gtt;
};

// Calls f with a default value of every argument structure of an ioctl.
template <class F>
void for_each_drm_ioctl(F f) {
  f(DrmVersion{});
  f(DrmGetClient{});
  f(DrmPrimeHandleToFd{});
  f(DrmPrimeFdToHandle{});
  f(DrmAmdgpuInfo{});
}

}  // namespace doorbell::amd::hw
