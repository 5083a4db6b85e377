// What the kernel shows of GPUs under /sys: where, and the properties of a node by name, in the
// kernel's order. The driver reads them, the emulator makes them.
// [torvalds/linux drivers/gpu/drm/amd/amdkfd/kfd_topology.c node_show, kfd_build_sysfs_node_entry]
#pragma once

#include <string_view>

#include "base/util/types.h"

namespace doorbell::amd::hw {

inline constexpr std::string_view kKfdDevice = "/dev/kfd";
inline constexpr std::string_view kTopology = "/sys/devices/virtual/kfd/kfd/topology";
inline constexpr std::string_view kTopologyNodes = "/sys/devices/virtual/kfd/kfd/topology/nodes";
// Below a node's folder: its id for ioctls (0: a CPU; unreadable: not this user's), its properties.
inline constexpr std::string_view kNodeGpuId = "gpu_id", kNodeProperties = "properties";

// Lines of "name value", decimal. Kernels leave out what they do not know, and add.
struct NodeProperties {
  u64 cpu_cores_count = 0, simd_count = 0, mem_banks_count = 0, caches_count = 0;
  u64 io_links_count = 0, p2p_links_count = 0, cpu_core_id_base = 0, simd_id_base = 0;
  u64 max_waves_per_simd = 0, lds_size_in_kb = 0, gds_size_in_kb = 0, num_gws = 0;
  u64 wave_front_size = 0, array_count = 0, simd_arrays_per_engine = 0, cu_per_simd_array = 0;
  u64 simd_per_cu = 0, max_slots_scratch_cu = 0;
  u64 gfx_target_version = 0;  // 110000 for gfx1100, 90402 for gfx942
  u64 vendor_id = 0, device_id = 0, location_id = 0, domain = 0;
  u64 drm_render_minor = 0;  // renderD<this>
  u64 hive_id = 0, num_sdma_engines = 0, num_sdma_xgmi_engines = 0, num_sdma_queues_per_engine = 0;
  u64 num_cp_queues = 0;
  u64 cwsr_size = 0, ctl_stack_size = 0;  // newer kernels: what CREATE_QUEUE must be given
  u64 max_engine_clk_fcompute = 0, local_mem_size = 0, fw_version = 0, capability = 0;
  u64 debug_prop = 0, sdma_fw_version = 0, unique_id = 0, num_xcc = 0;
  u64 max_engine_clk_ccompute = 0;

  static void fields(auto& p, auto f) {
    f("cpu_cores_count", p.cpu_cores_count);
    f("simd_count", p.simd_count);
    f("mem_banks_count", p.mem_banks_count);
    f("caches_count", p.caches_count);
    f("io_links_count", p.io_links_count);
    f("p2p_links_count", p.p2p_links_count);
    f("cpu_core_id_base", p.cpu_core_id_base);
    f("simd_id_base", p.simd_id_base);
    f("max_waves_per_simd", p.max_waves_per_simd);
    f("lds_size_in_kb", p.lds_size_in_kb);
    f("gds_size_in_kb", p.gds_size_in_kb);
    f("num_gws", p.num_gws);
    f("wave_front_size", p.wave_front_size);
    f("array_count", p.array_count);
    f("simd_arrays_per_engine", p.simd_arrays_per_engine);
    f("cu_per_simd_array", p.cu_per_simd_array);
    f("simd_per_cu", p.simd_per_cu);
    f("max_slots_scratch_cu", p.max_slots_scratch_cu);
    f("gfx_target_version", p.gfx_target_version);
    f("vendor_id", p.vendor_id);
    f("device_id", p.device_id);
    f("location_id", p.location_id);
    f("domain", p.domain);
    f("drm_render_minor", p.drm_render_minor);
    f("hive_id", p.hive_id);
    f("num_sdma_engines", p.num_sdma_engines);
    f("num_sdma_xgmi_engines", p.num_sdma_xgmi_engines);
    f("num_sdma_queues_per_engine", p.num_sdma_queues_per_engine);
    f("num_cp_queues", p.num_cp_queues);
    f("cwsr_size", p.cwsr_size);
    f("ctl_stack_size", p.ctl_stack_size);
    f("max_engine_clk_fcompute", p.max_engine_clk_fcompute);
    f("local_mem_size", p.local_mem_size);
    f("fw_version", p.fw_version);
    f("capability", p.capability);
    f("debug_prop", p.debug_prop);
    f("sdma_fw_version", p.sdma_fw_version);
    f("unique_id", p.unique_id);
    f("num_xcc", p.num_xcc);
    f("max_engine_clk_ccompute", p.max_engine_clk_ccompute);
  }
};

}  // namespace doorbell::amd::hw
