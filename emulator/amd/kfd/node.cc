// Boards as the kernel sees them. For the properties of their chips see isa/chip.cc.
#include "emulator/amd/kfd/node.h"

#include <algorithm>
#include <array>

#include "base/util/check.h"
#include "emulator/amd/isa/chip.h"

namespace doorbell::emu::amdgpu {
namespace {

// HSA_CAP_*: doorbells of 64 bits, queues' sizes powers of two, exceptions precise or not, SVM
// and the revision of the silicon. [uapi/linux/kfd_sysfs.h HSA_CAP_*]
constexpr u32 kCapability = 0x2807a280;
constexpr u32 kDebugProperties = 1495;

// clang-format off
constexpr std::array<Node, 5> kBoards = {{
    // [topology of a Radeon RX 6900 XT: simd_count, device_id, slots; drivers/gpu/drm/amd/amdgpu
    //  gfx_v10_0.c and kfd_device.c sienna_cichlid_device_info: engines, queues; kfd_crat.c
    //  sienna_cichlid_cache_info; firmware: amdgpu_firmware_info in M. Gavrilov's mail to amd-gfx
    //  of 10 Jul 2024, "6.10/bisected/regression"]
    {.name = "gfx1030", .marketing_name = "AMD Radeon RX 6900 XT",
     .device_id = 0x73af, .family = 143, .compute_units = 80, .simds_per_cu = 2, .arrays = 8,
     .arrays_per_engine = 2, .cus_per_array = 10, .waves_per_simd = 16, .xccs = 1,
     .sdma_engines = 4, .sdma_xgmi_engines = 0, .sdma_queues_per_engine = 8, .cp_queues = 8,
     .clock_mhz = 2660, .firmware = 118, .sdma_firmware = 84, .capability = kCapability,
     .debug_properties = kDebugProperties, .vram_bytes = 17163091968, .memory_width = 256,
     .memory_clock_mhz = 1000, .l1_kb = 16, .gl1_kb = 128, .l2_kb = 4096, .l3_kb = 131072,
     .cache_line = 64, .xgmi = false, .gc = {10, 3, 0}, .sdma = {5, 2, 0},
     .nbif = {3, 3, 0}},
    // [topology of a Radeon RX 7900 XTX in tinygrad's test/mockgpu/amd/amdgpu.py: 96 CUs, 206
    //  caches, capability, debug_prop, firmware]
    {.name = "gfx1100", .marketing_name = "AMD Radeon RX 7900 XTX",
     .device_id = 29772, .family = 145, .compute_units = 96, .simds_per_cu = 2, .arrays = 12,
     .arrays_per_engine = 2, .cus_per_array = 8, .waves_per_simd = 16, .xccs = 1,
     .sdma_engines = 2, .sdma_xgmi_engines = 0, .sdma_queues_per_engine = 6, .cp_queues = 8,
     .clock_mhz = 2482, .firmware = 2140, .sdma_firmware = 20, .capability = 671588992,
     .debug_properties = 1495, .vram_bytes = 25753026560, .memory_width = 384,
     .memory_clock_mhz = 1249, .l1_kb = 32, .gl1_kb = 256, .l2_kb = 6144, .l3_kb = 98304,
     .cache_line = 128, .xgmi = false, .gc = {11, 0, 0}, .sdma = {6, 0, 0},
     .nbif = {4, 3, 0}},
    // [topology and ip_discovery of a Radeon AI PRO R9700 in ROCm/rocm-systems
    //  emulation/rocjitsu/configs/gfx1201_r9700.json: 64 CUs, engines, capability, block versions]
    {.name = "gfx1201", .marketing_name = "AMD Radeon AI PRO R9700",
     .device_id = 30033, .family = 152, .compute_units = 64, .simds_per_cu = 2, .arrays = 8,
     .arrays_per_engine = 2, .cus_per_array = 8, .waves_per_simd = 16, .xccs = 1,
     .sdma_engines = 2, .sdma_xgmi_engines = 0, .sdma_queues_per_engine = 6, .cp_queues = 4,
     .clock_mhz = 2350, .firmware = 3010, .sdma_firmware = 850, .capability = 1745068672,
     .debug_properties = 1495, .vram_bytes = 34208743424, .memory_width = 256,
     .memory_clock_mhz = 1258, .l1_kb = 32, .gl1_kb = 256, .l2_kb = 8192, .l3_kb = 65536,
     .cache_line = 256, .xgmi = false, .gc = {12, 0, 1}, .sdma = {7, 0, 1},
     .nbif = {6, 3, 1}},
    // [topology of an Instinct MI300X: simd_count 1216, array_count 32, num_xcc 8, caches_count
    //  626, fw_version 192, as in ROCm/rocm-systems emulation/rocjitsu/configs/
    //  gfx942_cdna3_kmd.json; kfd_device.c: 2 SDMA engines of 16 are not for XGMI]
    {.name = "gfx942", .marketing_name = "AMD Instinct MI300X",
     .device_id = 29857, .family = 141, .compute_units = 304, .simds_per_cu = 4, .arrays = 32,
     .arrays_per_engine = 1, .cus_per_array = 10, .waves_per_simd = 8, .xccs = 8,
     .sdma_engines = 2, .sdma_xgmi_engines = 14, .sdma_queues_per_engine = 8, .cp_queues = 24,
     .clock_mhz = 2100, .firmware = 192, .sdma_firmware = 25, .capability = 0xac37a280,
     .debug_properties = 1494, .vram_bytes = 206141652992, .memory_width = 8192,
     .memory_clock_mhz = 1300, .l1_kb = 32, .gl1_kb = 0, .l2_kb = 4096, .l3_kb = 262144,
     .cache_line = 128, .xgmi = true, .gc = {9, 4, 3}, .sdma = {4, 4, 2},
     .nbif = {7, 9, 0}},
    // [topology of an Instinct MI350X, ROCm/rocm-systems pull request 10274: simd_count 1024,
    //  array_count 32, cu_per_simd_array 9, engines, queues, capability, debug_prop, memory]
    {.name = "gfx950", .marketing_name = "AMD Instinct MI350X",
     .device_id = 30112, .family = 141, .compute_units = 256, .simds_per_cu = 4, .arrays = 32,
     .arrays_per_engine = 1, .cus_per_array = 9, .waves_per_simd = 8, .xccs = 8,
     .sdma_engines = 2, .sdma_xgmi_engines = 14, .sdma_queues_per_engine = 8, .cp_queues = 24,
     .clock_mhz = 2200, .firmware = 192, .sdma_firmware = 25, .capability = 2889327232,
     .debug_properties = 1494, .vram_bytes = 309220868096, .memory_width = 8192,
     .memory_clock_mhz = 1900, .l1_kb = 32, .gl1_kb = 0, .l2_kb = 4096, .l3_kb = 262144,
     .cache_line = 128, .xgmi = true, .gc = {9, 5, 0}, .sdma = {4, 4, 5},
     .nbif = {7, 9, 1}},
}};
// clang-format on

// Copies a chip's properties to its board.
void describe_chip(Node& node) {
  const Chip* chip = find_chip(node.name);
  CHECK(chip != nullptr, "a board with the chip {}, which has no row in isa/chip.cc", node.name);
  node.target_version = chip->major * 10000 + chip->minor * 100 + chip->stepping;
  node.wave_size = chip->wave32 ? 32 : 64;
  node.lds_kb = chip->lds_bytes / 1024;
}

constexpr u64 align(u64 value, u64 multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

std::span<const Node> nodes() {
  static const std::array<Node, kBoards.size()> nodes = [] {
    std::array<Node, kBoards.size()> made = kBoards;
    for (Node& node : made) describe_chip(node);
    return made;
  }();
  return nodes;
}

// [kfd_queue.c kfd_get_vgpr_size_per_cu()]
u64 vgpr_bytes_per_cu(const Node& node) {
  switch (node.target_version) {
    case 90402:
    case 90500:
    case 90008:
    case 90010: return 0x80000;
    case 110000:
    case 110001:
    case 120000:
    case 120001: return 0x60000;
    default: return 0x40000;
  }
}

std::span<const PartitionMode> partition_modes(const Node& node) {
  static constexpr PartitionMode kOfEight[] = {{"SPX", 1}, {"DPX", 2}, {"QPX", 4}, {"CPX", 8}};
  if (node.xccs == 8) return kOfEight;
  return {};
}

// [kfd_device.c kfd_get_num_sdma_engines(), kfd_get_num_xgmi_sdma_engines(); kfd_topology.c
// kfd_topology_add_device(); amdgpu_amdkfd.c amdgpu_amdkfd_xcp_memory_size(), the same for every
// NPS mode]
Node partition_of(const Node& node, u32 partitions) {
  Node part = node;
  part.compute_units /= partitions;
  part.arrays /= partitions;
  part.xccs /= partitions;
  part.vram_bytes = node.vram_bytes / partitions / 4096 * 4096;
  const u32 engines = (node.sdma_engines + node.sdma_xgmi_engines) / partitions;
  part.sdma_engines = node.xgmi ? std::min(engines, 2u) : engines;
  part.sdma_xgmi_engines = engines - part.sdma_engines;
  return part;
}

const Node* find_node(std::string_view name) {
  const auto found = std::ranges::find(nodes(), name, &Node::name);
  return found == nodes().end() ? nullptr : &*found;
}

// [kfd_queue.c kfd_queue_ctx_save_restore_size()]
SaveAreaSizes save_area_sizes(const Node& node) {
  constexpr u64 kPage = 4096, kHeader = 40, kScalarBytes = 0x4000, kHardwareRegisterBytes = 0x1000;
  bool rdna = node.target_version >= 100100;
  u64 units = node.compute_units / node.xccs;
  u64 waves =
      rdna ? units * 32 : std::min<u64>(units * 40, node.arrays / node.arrays_per_engine * 512);
  u64 lds_bytes = node.target_version == 90500 ? u64{node.lds_kb} << 10 : 0x10000;
  u64 per_unit = vgpr_bytes_per_cu(node) + kScalarBytes + lds_bytes + kHardwareRegisterBytes;
  u64 control_stack = align(kHeader + waves * (rdna ? 12 : 8) + 8, kPage);
  // The hardware of this generation cannot use more.
  if (node.target_version / 10000 == 10) control_stack = std::min<u64>(control_stack, 0x7000);
  return {.control_stack_bytes = static_cast<u32>(control_stack),
          .bytes = static_cast<u32>(control_stack + align(units * per_unit, kPage)),
          .debug_bytes = static_cast<u32>(align(waves * 32, 64))};
}

}  // namespace doorbell::emu::amdgpu
