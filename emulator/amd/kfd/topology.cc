// Topology of an emulated machine, as text.
// [drivers/gpu/drm/amd/amdkfd/kfd_topology.c: node_show(), mem_show(), kfd_cache_show(),
//  iolink_show(), sysprops_show(); kfd_crat.c for what a virtual CRAT says]
#include "emulator/amd/kfd/topology.h"

#include <vector>

#include <fmt/format.h>

namespace doorbell::emu::amdgpu {
namespace {

class Properties {
 public:
  Properties& operator()(std::string_view name, u64 value) {
    text_ += fmt::format("{} {}\n", name, value);
    return *this;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

constexpr u32 kSimdIdBase = 0x80001000;  // kfd_crat.c gpu_processor_id_low

// [kfd_topology.h HSA_CACHE_TYPE_*]
constexpr u32 kDataCache = 1, kInstructionCache = 2, kSimdCache = 8;

struct Cache {
  u32 processor = 0, level = 0, kilobytes = 0, line = 0, type = 0;
  u32 siblings = 1;  // compute units that share it, as ones of the map
};

std::string print(const Cache& cache) {
  Properties out;
  out("processor_id_low", cache.processor)("level", cache.level)("size", cache.kilobytes);
  out("cache_line_size", cache.line)("cache_lines_per_tag", 1)("association", 0);
  out("latency", 0)("type", cache.type);
  std::string text = out.take() + "sibling_map ";
  constexpr u32 kMapBits = 32 * 8;
  for (u32 bit = 0; bit < kMapBits; ++bit) {
    text += bit < cache.siblings ? '1' : '0';
    text += bit + 1 < kMapBits ? ',' : '\n';
  }
  return text;
}

// Vector caches per unit, instruction and scalar caches per pair of units, then the caches of an
// array, an XCC and the whole chip. [kfd_crat.c kfd_fill_cache_non_crat_info()]
std::vector<Cache> caches_of(const Node& node) {
  std::vector<Cache> caches;
  auto processor = [&](u32 unit) { return kSimdIdBase + unit * node.simds_per_cu; };
  // If a unit of a pair does not work, the pair's caches still exist.
  u32 pairs = node.arrays * ((node.cus_per_array + 1) / 2);
  if (node.compute_units == node.arrays * node.cus_per_array) pairs = node.compute_units / 2;
  for (u32 unit = 0; unit < node.compute_units; ++unit)
    caches.push_back({processor(unit), 1, node.l1_kb, node.cache_line, kDataCache | kSimdCache, 1});
  for (u32 pair = 0; pair < pairs; ++pair)
    caches.push_back({processor(pair * 2), 1, 32, 64, kInstructionCache | kSimdCache, 2});
  for (u32 pair = 0; pair < pairs; ++pair)
    caches.push_back({processor(pair * 2), 1, 16, 64, kDataCache | kSimdCache, 2});
  if (node.gl1_kb)
    for (u32 array = 0; array < node.arrays; ++array)
      caches.push_back({processor(array * node.cus_per_array), 1, node.gl1_kb, node.cache_line,
                        kDataCache | kSimdCache, node.cus_per_array});
  u32 all = std::min<u32>(node.compute_units, 256);
  caches.push_back({processor(0), 2, node.l2_kb, node.cache_line, kDataCache | kSimdCache, all});
  if (node.l3_kb) caches.push_back({processor(0), 3, node.l3_kb, 64, kDataCache | kSimdCache, all});
  return caches;
}

// [kfd_crat.h CRAT_IOLINK_TYPE_*]
constexpr u32 kPcie = 2, kXgmi = 11;

struct Link {
  u32 type, weight, min_mbs, max_mbs;
};
constexpr Link kToHost{kPcie, 20, 312, 31504}, kToPeer{kPcie, 40, 312, 31504};

// Partitions of a package are linked as if by XGMI; for those of others the kernel knows no
// bandwidth. [kfd_crat.c kfd_fill_gpu_xgmi_link_to_gpu(), KFD_CRAT_INTRA_SOCKET_WEIGHT]
Link link_between(const Slot& one, const Slot& other) {
  if (!one.node->xgmi || !other.node->xgmi) return kToPeer;
  if (one.package == other.package) return {kXgmi, 13, 819200, 819200};
  // With the later node's weight, because the kernel adds both directions then.
  const Slot& later = one.index > other.index ? one : other;
  if (later.is_part()) return {kXgmi, 2 * 13 + 15, 0, 0};
  return {kXgmi, 15, 50000, 50000};
}

std::string print(const Link& link, u32 from, u32 to) {
  Properties out;
  out("type", link.type)("version_major", 0)("version_minor", 0)("node_from", from)("node_to", to);
  out("weight", link.weight)("min_latency", 0)("max_latency", 0);
  out("min_bandwidth", link.min_mbs)("max_bandwidth", link.max_mbs);
  out("recommended_transfer_size", 0)("recommended_sdma_engine_id_mask", 0)("flags", 1);
  return out.take();
}

std::string memory_bank(u32 heap, u64 bytes, u32 width, u32 clock) {
  Properties out;
  out("heap_type", heap)("size_in_bytes", bytes)("flags", 0)("width", width)("mem_clk_max", clock);
  return out.take();
}

std::string cpu_properties(const HostProperties& host, usize gpus) {
  Properties out;
  out("cpu_cores_count", host.cores)("simd_count", 0)("mem_banks_count", 1)("caches_count", 0);
  out("io_links_count", gpus)("p2p_links_count", 0)("cpu_core_id_base", 0)("simd_id_base", 0);
  for (const char* name : {"max_waves_per_simd",
                           "lds_size_in_kb",
                           "gds_size_in_kb",
                           "num_gws",
                           "wave_front_size",
                           "array_count",
                           "simd_arrays_per_engine",
                           "cu_per_simd_array",
                           "simd_per_cu",
                           "max_slots_scratch_cu",
                           "gfx_target_version",
                           "vendor_id",
                           "device_id",
                           "location_id",
                           "domain",
                           "drm_render_minor",
                           "hive_id",
                           "num_sdma_engines",
                           "num_sdma_xgmi_engines",
                           "num_sdma_queues_per_engine",
                           "num_cp_queues"})
    out(name, 0);
  return out("max_engine_clk_ccompute", 3000).take();
}

struct LinkCounts {
  usize io = 1, peer = 0;
};

std::string gpu_properties(const Slot& slot, usize caches, LinkCounts links) {
  const Node& node = *slot.node;
  SaveAreaSizes save = save_area_sizes(node);
  Properties out;
  out("cpu_cores_count", 0)("simd_count", node.compute_units * node.simds_per_cu);
  out("mem_banks_count", 1)("caches_count", caches)("io_links_count", links.io);
  out("p2p_links_count", links.peer)("cpu_core_id_base", 0)("simd_id_base", kSimdIdBase);
  out("max_waves_per_simd", node.waves_per_simd)("lds_size_in_kb", node.lds_kb);
  out("gds_size_in_kb", 0)("num_gws", 64)("wave_front_size", node.wave_size);
  out("array_count", node.arrays)("simd_arrays_per_engine", node.arrays_per_engine);
  out("cu_per_simd_array", node.cus_per_array)("simd_per_cu", node.simds_per_cu);
  out("max_slots_scratch_cu", 32)("gfx_target_version", node.target_version);
  out("vendor_id", 0x1002)("device_id", node.device_id)("location_id", slot.location_id());
  out("domain", 0)("drm_render_minor", slot.render_minor())("hive_id", node.xgmi ? 0x1d0e5 : 0);
  out("num_sdma_engines", node.sdma_engines)("num_sdma_xgmi_engines", node.sdma_xgmi_engines);
  out("num_sdma_queues_per_engine", node.sdma_queues_per_engine)("num_cp_queues", node.cp_queues);
  out("cwsr_size", save.bytes)("ctl_stack_size", save.control_stack_bytes);
  out("max_engine_clk_fcompute", node.clock_mhz)("local_mem_size", 0);
  out("fw_version", node.firmware)("capability", node.capability)("capability2", 0);
  out("debug_prop", node.debug_properties)("sdma_fw_version", node.sdma_firmware);
  out("unique_id", slot.unique_id())("num_xcc", node.xccs)("max_engine_clk_ccompute", 3000);
  return out.take();
}

// A render node and its device, which has a primary node too: libdrm knows devices apart by it.
// [drivers/gpu/drm/drm_drv.c drm_dev_init(); libdrm amdgpu_device.c fd_compare()]
void add_render_node(SystemFiles& out, const Slot& slot, const std::string& device) {
  const auto add = [&](const std::string& name, u32 number) {
    const std::string folder = fmt::format("{}/drm/{}/", device, name);
    out.files[folder + "dev"] = fmt::format("226:{}\n", number);
    out.files[folder + "uevent"] =
        fmt::format("MAJOR=226\nMINOR={}\nDEVNAME=dri/{}\nDEVTYPE=drm_minor\n", number, name);
  };
  const std::string minor = fmt::format("renderD{}", slot.render_minor());
  add(minor, slot.render_minor());
  add(fmt::format("card{}", slot.index), slot.index);
  out.links["/sys/class/drm/" + minor + "/device"] = device;
  out.links[fmt::format("/sys/dev/char/226:{}/device", slot.render_minor())] = device;
}

// The first partition has the package's render node; those of the others belong to devices without
// a bus.
// [drivers/gpu/drm/amd/amdxcp/amdgpu_xcp_drv.c amdgpu_xcp_drm_dev_alloc()]
void add_partition_files(SystemFiles& out, const Slot& slot) {
  constexpr u32 kOfAPackage = 7;
  const u32 number = slot.package * kOfAPackage + slot.partition - 1;
  const std::string device = fmt::format("/sys/devices/platform/amdgpu_xcp_{}", number);
  out.files[device + "/uevent"] = fmt::format("MODALIAS=platform:amdgpu_xcp_{}\n", number);
  add_render_node(out, slot, device);
  out.links[device + "/subsystem"] = "/sys/bus/platform";
}

void add_drm_files(SystemFiles& out, const Slot& slot) {
  if (slot.partition > 0) return add_partition_files(out, slot);
  const Node& node = *find_node(slot.node->name);
  std::string device = fmt::format("/sys/devices/pci0000:00/0000:{:02x}:00.0", slot.bus());
  auto add = [&](const char* name, std::string text) {
    out.files[device + "/" + name] = std::move(text);
  };
  add("vendor", "0x1002\n");
  add("device", fmt::format("0x{:04x}\n", node.device_id));
  add("subsystem_vendor", "0x1002\n");
  add("subsystem_device", "0x0e3b\n");
  add("revision", "0xc8\n");
  add("class", "0x030000\n");
  add("uevent", fmt::format("DRIVER=amdgpu\nPCI_CLASS=30000\nPCI_ID=1002:{:04X}\n"
                            "PCI_SLOT_NAME=0000:{:02x}:00.0\n",
                            node.device_id, slot.bus()));
  add("mem_info_vram_total", fmt::format("{}\n", node.vram_bytes));
  add("mem_info_vram_used", "0\n");
  add("power_dpm_force_performance_level", "auto\n");
  add("unique_id", fmt::format("{:016x}\n", slot.unique_id()));
  add("product_name", fmt::format("{}\n", node.marketing_name));
  // [amdgpu_gfx.c, amdgpu_gmc.c: the attributes of this name]
  if (slot.partitions != nullptr) {
    add("current_compute_partition", fmt::format("{}\n", slot.partitions->name));
    add("available_compute_partition", fmt::format("{}\n", names_of(partition_modes(node))));
    add("current_memory_partition", "NPS1\n");
  }
  // [amdgpu_discovery.c: die/<die>/<hardware id>/<instance>; ids of soc15_hw_ip.h]
  struct Block {
    u32 id;
    IpVersion version;
    u32 instances;
  };
  for (const Block& block :
       {Block{11, node.gc, node.xccs}, Block{42, node.sdma, 1}, Block{108, node.nbif, 1}})
    for (u32 instance = 0; instance < block.instances; ++instance) {
      std::string folder = fmt::format("ip_discovery/die/0/{}/{}/", block.id, instance);
      add((folder + "major").c_str(), fmt::format("{}\n", block.version.major));
      add((folder + "minor").c_str(), fmt::format("{}\n", block.version.minor));
      add((folder + "revision").c_str(), fmt::format("{}\n", block.version.revision));
      add((folder + "hw_id").c_str(), fmt::format("{}\n", block.id));
      add((folder + "num_instance").c_str(), fmt::format("{}\n", instance));
    }
  add_render_node(out, slot, device);
  out.links[device + "/subsystem"] = "/sys/bus/pci";
}

}  // namespace

SystemFiles system_files(std::span<const Slot> slots, const HostProperties& host) {
  SystemFiles out;
  std::string root = kTopologyFolder;
  out.links["/sys/class/kfd/kfd"] = "/sys/devices/virtual/kfd/kfd";
  out.files[root + "/generation_id"] = "2\n";
  out.files[root + "/system_properties"] =
      Properties()("platform_oem", 0)("platform_id", 0)("platform_rev", 0).take();
  out.files["/sys/module/amdgpu/initstate"] = "live\n";
  out.files["/sys/module/amdgpu/version"] = "6.10.5\n";

  std::string cpu = root + "/nodes/0";
  out.files[cpu + "/gpu_id"] = "0\n";
  out.files[cpu + "/name"] = "\n";
  out.files[cpu + "/properties"] = cpu_properties(host, slots.size());
  out.files[cpu + "/mem_banks/0/properties"] = memory_bank(0, host.memory_bytes, 64, 2400);

  for (const Slot& slot : slots) {
    u32 number = slot.index + 1;
    out.files[fmt::format("{}/io_links/{}/properties", cpu, slot.index)] =
        print(kToHost, 0, number);
    std::string folder = fmt::format("{}/nodes/{}", root, number);
    LinkCounts links;
    out.files[folder + "/io_links/0/properties"] = print(kToHost, number, 0);
    for (const Slot& peer : slots) {
      if (peer.index == slot.index) continue;
      const Link link = link_between(slot, peer);
      const bool xgmi = link.type == kXgmi;
      usize& count = xgmi ? links.io : links.peer;
      out.files[fmt::format("{}/{}/{}/properties", folder, xgmi ? "io_links" : "p2p_links",
                            count++)] = print(link, number, peer.index + 1);
    }
    std::vector<Cache> caches = caches_of(*slot.node);
    for (usize i = 0; i < caches.size(); ++i)
      out.files[fmt::format("{}/caches/{}/properties", folder, i)] = print(caches[i]);
    out.files[folder + "/gpu_id"] = fmt::format("{}\n", slot.gpu_id());
    out.files[folder + "/name"] = "ip discovery\n";
    out.files[folder + "/properties"] = gpu_properties(slot, caches.size(), links);
    // The host can map all of it: a large BAR.
    out.files[folder + "/mem_banks/0/properties"] =
        memory_bank(1, slot.node->vram_bytes, slot.node->memory_width, slot.node->memory_clock_mhz);
    add_drm_files(out, slot);
  }
  return out;
}

}  // namespace doorbell::emu::amdgpu
