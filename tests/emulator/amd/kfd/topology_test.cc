// The topology of an emulated machine against values of real ones.
#include "emulator/amd/kfd/topology.h"

#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "emulator/amd/kfd/node.h"

namespace doorbell::emu::amdgpu {
namespace {

std::map<std::string, u64> parse(const std::string& text) {
  std::map<std::string, u64> values;
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string name;
    u64 value = 0;
    if (words >> name >> value) values[name] = value;
  }
  return values;
}

SystemFiles machine_of(const std::vector<std::string>& names) {
  return system_files(*make_slots(names), {.cores = 8, .memory_bytes = u64{32} << 30});
}

std::string node_file(const SystemFiles& files, int node, const char* name) {
  auto found = files.files.find(std::string(kTopologyFolder) + "/nodes/" + std::to_string(node) +
                                "/" + name);
  return found == files.files.end() ? "(missing)" : found->second;
}

// Save areas as kernels print them: an R9700's [riding along in a topology quoted by
// github.com users of 6.17: cwsr_size 30699520, ctl_stack_size 28672, 64 units].
TEST(Topology, SaveAreasAreThoseOfARealKernel) {
  SaveAreaSizes r9700 = save_area_sizes(*find_node("gfx1201"));
  EXPECT_EQ(r9700.bytes, 30699520u);
  EXPECT_EQ(r9700.control_stack_bytes, 28672u);
  EXPECT_EQ(r9700.debug_bytes, 65536u);
  // gfx10's control stack ends at 0x7000, whatever the waves.
  EXPECT_EQ(save_area_sizes(*find_node("gfx1030")).control_stack_bytes, 0x7000u);
}

// [tinygrad test/mockgpu/amd/amdgpu.py gpu_props: a 7900 XTX]
TEST(Topology, A7900XtxIsPrintedAsTheKernelPrintsIt) {
  SystemFiles files = machine_of({"gfx1100"});
  std::map<std::string, u64> properties = parse(node_file(files, 1, "properties"));
  std::map<std::string, u64> expected = {{"cpu_cores_count", 0},
                                         {"simd_count", 192},
                                         {"mem_banks_count", 1},
                                         {"caches_count", 206},
                                         {"io_links_count", 1},
                                         {"max_waves_per_simd", 16},
                                         {"lds_size_in_kb", 64},
                                         {"num_gws", 64},
                                         {"wave_front_size", 32},
                                         {"array_count", 12},
                                         {"simd_arrays_per_engine", 2},
                                         {"cu_per_simd_array", 8},
                                         {"simd_per_cu", 2},
                                         {"max_slots_scratch_cu", 32},
                                         {"gfx_target_version", 110000},
                                         {"vendor_id", 4098},
                                         {"device_id", 29772},
                                         {"domain", 0},
                                         {"num_sdma_engines", 2},
                                         {"num_sdma_xgmi_engines", 0},
                                         {"num_sdma_queues_per_engine", 6},
                                         {"num_cp_queues", 8},
                                         {"max_engine_clk_fcompute", 2482},
                                         {"local_mem_size", 0},
                                         {"fw_version", 2140},
                                         {"capability", 671588992},
                                         {"debug_prop", 1495},
                                         {"sdma_fw_version", 20},
                                         {"num_xcc", 1},
                                         {"drm_render_minor", 128}};
  for (const auto& [name, value] : expected) {
    ASSERT_TRUE(properties.contains(name)) << name;
    EXPECT_EQ(properties[name], value) << name;
  }
}

// [626 caches, 1216 SIMDs in 8 XCCs: topology of an MI300X]
TEST(Topology, AnMi300XHasEightDies) {
  std::map<std::string, u64> properties = parse(node_file(machine_of({"gfx942"}), 1, "properties"));
  EXPECT_EQ(properties["caches_count"], 626u);
  EXPECT_EQ(properties["simd_count"], 1216u);
  EXPECT_EQ(properties["num_xcc"], 8u);
  EXPECT_EQ(properties["array_count"], 32u);
}

struct Part {
  const char* gpu;
  u32 nodes, simds, xccs, arrays, sdma, xgmi;
  u64 gib;
};

// 1216 SIMDs, 8 XCCs, 32 arrays, 16 copy engines and 192 GiB in equal parts; of its engines a node
// has two at most that are not for XGMI. [kfd_device.c kfd_get_num_sdma_engines()]
TEST(Topology, PartitionsShareAPackage) {
  for (const Part& part :
       {Part{"gfx942:SPX", 1, 1216, 8, 32, 2, 14, 192}, Part{"gfx942:DPX", 2, 608, 4, 16, 2, 6, 96},
        Part{"gfx942:QPX", 4, 304, 2, 8, 2, 2, 48}, Part{"gfx942:CPX", 8, 152, 1, 4, 2, 0, 24}}) {
    const SystemFiles files = machine_of({part.gpu});
    for (u32 node = 1; node <= part.nodes; ++node) {
      std::map<std::string, u64> properties = parse(node_file(files, node, "properties"));
      EXPECT_EQ(properties["simd_count"], part.simds) << part.gpu;
      EXPECT_EQ(properties["num_xcc"], part.xccs) << part.gpu;
      EXPECT_EQ(properties["array_count"], part.arrays) << part.gpu;
      EXPECT_EQ(properties["num_sdma_engines"], part.sdma) << part.gpu;
      EXPECT_EQ(properties["num_sdma_xgmi_engines"], part.xgmi) << part.gpu;
      // One PCI device, and which partition in bits 31:28.
      EXPECT_EQ(properties["location_id"], 0x300u | u64{node - 1} << 28) << part.gpu;
      EXPECT_EQ(properties["drm_render_minor"], 127 + node) << part.gpu;
      EXPECT_EQ(properties["io_links_count"], part.nodes) << part.gpu;
      const u64 bytes = parse(node_file(files, node, "mem_banks/0/properties"))["size_in_bytes"];
      EXPECT_NEAR(static_cast<double>(bytes) / (1 << 30), static_cast<double>(part.gib), 0.1);
    }
    EXPECT_FALSE(files.files.contains(
        fmt::format("{}/nodes/{}/properties", kTopologyFolder, part.nodes + 1)));
  }
}

// [kfd_crat.c kfd_fill_gpu_xgmi_link_to_gpu(): 13 within a socket at 819200 MB/s, 2 * 13 + 15
// between sockets that are parted]
TEST(Topology, PartitionsAreLinkedWithinTheirPackage) {
  const SystemFiles files = machine_of({"gfx942:CPX:2", "gfx942:CPX:1"});
  std::map<std::string, u64> near = parse(node_file(files, 1, "io_links/1/properties"));
  EXPECT_EQ(near["node_to"], 2u);
  EXPECT_EQ(near["type"], 11u);
  EXPECT_EQ(near["weight"], 13u);
  EXPECT_EQ(near["max_bandwidth"], 819200u);
  std::map<std::string, u64> far = parse(node_file(files, 1, "io_links/2/properties"));
  EXPECT_EQ(far["node_to"], 3u);
  EXPECT_EQ(far["weight"], 41u);
  EXPECT_EQ(far["max_bandwidth"], 0u);
  EXPECT_EQ(parse(node_file(files, 3, "properties"))["location_id"], 0x400u);
}

TEST(Topology, NamesThatAreNoneSayWhichThereAre) {
  const auto why_not = [](std::vector<std::string> names) {
    return make_slots(names).error().message;
  };
  EXPECT_EQ(why_not({"gfx1100", "gfx803"}),
            "no emulated GPU is called \"gfx803\"; there are gfx1030, gfx1100, gfx1201, gfx942, "
            "gfx950");
  EXPECT_EQ(why_not({"gfx942:cpx"}),
            "\"gfx942:cpx\": compute partitions of a gfx942 are SPX, DPX, QPX, CPX");
  for (const char* gpu : {"gfx942:QPX:0", "gfx942:QPX:5", "gfx942:QPX:", "gfx942:QPX:2x"})
    EXPECT_TRUE(why_not({gpu}).ends_with(": a number of partitions is 1 to 4")) << gpu;
}

// [kfd_topology.h HSA_CACHE_TYPE_DATA 1, _INSTRUCTION 2, _HSACU 8]
TEST(Topology, CachesAreOfComputeUnits) {
  SystemFiles files = machine_of({"gfx1100"});
  std::map<std::string, u64> first = parse(node_file(files, 1, "caches/0/properties"));
  EXPECT_EQ(first["level"], 1u);
  EXPECT_EQ(first["size"], 32u);
  EXPECT_EQ(first["type"], 9u);
  EXPECT_EQ(parse(node_file(files, 1, "caches/96/properties"))["type"], 10u);
  std::map<std::string, u64> last = parse(node_file(files, 1, "caches/205/properties"));
  EXPECT_EQ(last["level"], 3u);
  EXPECT_EQ(last["size"], 98304u);
  std::string text = node_file(files, 1, "caches/0/properties");
  EXPECT_NE(text.find("sibling_map 1,0,0,"), std::string::npos);
  EXPECT_EQ(text.back(), '\n');
}

TEST(Topology, CountsAreThoseOfTheFolders) {
  for (const Node& node : nodes()) {
    std::string name(node.name);
    SystemFiles files = machine_of({name.c_str(), name.c_str()});
    std::map<std::string, u64> properties = parse(node_file(files, 1, "properties"));
    u64 caches = 0, io = 0, peers = 0;
    std::string folder = std::string(kTopologyFolder) + "/nodes/1/";
    for (const auto& [path, text] : files.files) {
      caches += path.starts_with(folder + "caches/");
      io += path.starts_with(folder + "io_links/");
      peers += path.starts_with(folder + "p2p_links/");
    }
    EXPECT_EQ(properties["caches_count"], caches) << name;
    EXPECT_EQ(properties["io_links_count"], io) << name;
    EXPECT_EQ(properties["p2p_links_count"], peers) << name;
    EXPECT_EQ(io + peers, 2u) << name << ": the CPU and the other";
  }
}

TEST(Topology, GpusAreToldApart) {
  SystemFiles files = machine_of({"gfx1030", "gfx1100", "gfx942"});
  EXPECT_EQ(node_file(files, 0, "gpu_id"), "0\n");
  std::set<std::string> ids;
  for (int node : {1, 2, 3}) ids.insert(node_file(files, node, "gpu_id"));
  EXPECT_EQ(ids.size(), 3u);
  EXPECT_FALSE(ids.contains("0\n"));
  EXPECT_EQ(parse(node_file(files, 3, "properties"))["drm_render_minor"], 130u);
  EXPECT_EQ(parse(node_file(files, 2, "mem_banks/0/properties"))["size_in_bytes"], 25753026560u);
  EXPECT_EQ(parse(node_file(files, 0, "properties"))["cpu_cores_count"], 8u);
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
