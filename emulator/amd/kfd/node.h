// The kernel's view of each GPU that the emulator supports: the columns of the topology, the sizes
// of save areas, versions of the blocks. For execution see emulator/amd/isa/chip.h.
#pragma once

#include <span>
#include <string_view>

#include "base/util/types.h"

namespace doorbell::emu::amdgpu {

struct IpVersion {
  u32 major = 0, minor = 0, revision = 0;
};

// Values of a real card of that kind; node.cc has their sources. Those that depend on the chip come
// from isa/chip.h.
struct Node {
  std::string_view name;            // "gfx1100", as LLVM calls it
  std::string_view marketing_name;  // "AMD Radeon RX 7900 XTX"
  u32 target_version = 0;           // 110000; of the chip
  u32 device_id;
  u32 family;         // AMDGPU_FAMILY_* of amdgpu_drm.h
  u32 compute_units;  // working ones, of all XCCs
  u32 simds_per_cu;
  u32 arrays, arrays_per_engine;  // shader arrays of all XCCs; per shader engine
  u32 cus_per_array;              // present, working or not
  u32 waves_per_simd;
  u32 wave_size = 0;  // of the chip
  u32 xccs;
  u32 sdma_engines, sdma_xgmi_engines, sdma_queues_per_engine;
  u32 cp_queues;
  u32 clock_mhz;
  u32 firmware, sdma_firmware;
  u32 capability, debug_properties;
  u64 vram_bytes;
  u32 memory_width, memory_clock_mhz;
  u32 l1_kb, gl1_kb, l2_kb, l3_kb;  // gl1_kb 0: there is none
  u32 cache_line;
  u32 lds_kb = 0;  // of the chip
  bool xgmi;       // connected to the same kind by XGMI, not PCIe
  IpVersion gc, sdma, nbif;
};

// Host memory (GTT) that a GPU may use.
inline constexpr u64 kGttBytes = u64{64} << 30;

// Shader engines of each XCC.
constexpr u32 engines(const Node& node) { return node.arrays / node.arrays_per_engine / node.xccs; }

// Whether the kernel gives a process counters of the hardware for ALLOC_QUEUE_GWS. gfx942 and
// gfx950, and chips that the MES schedules, get none: there the call has no effect, but HIP
// requires it for cooperative launches. [Linux kfd_process_queue_manager.c pqm_set_gws()]
constexpr bool has_wave_sync(const Node& node) { return node.gc.major == 10; }

// How the kernel partitions a package of several XCCs into GPUs, each with its part of the XCCs,
// compute units, copy engines and memory. [Linux amdgpu_gfx.c, compute partition modes;
// aqua_vanjaram.c, __aqua_vanjaram_update_supported_modes()]
struct PartitionMode {
  std::string_view name;  // "CPX", as sysfs has it
  u32 partitions;         // 1: the package is one GPU
};
// The first is the default; empty for a package with one XCC.
std::span<const PartitionMode> partition_modes(const Node& node);
// One of this many partitions.
Node partition_of(const Node& node, u32 partitions);

// The vector registers of a compute unit.
u64 vgpr_bytes_per_cu(const Node& node);

std::span<const Node> nodes();
// Null for an unknown name.
const Node* find_node(std::string_view name);

// The sizes that CREATE_QUEUE requires of a compute queue's save area, per XCC.
struct SaveAreaSizes {
  u32 control_stack_bytes = 0;
  u32 bytes = 0;        // control stack included: cwsr_size
  u32 debug_bytes = 0;  // for all waves; lies behind the save area
  u32 eop_bytes = 4096;
};
SaveAreaSizes save_area_sizes(const Node& node);

}  // namespace doorbell::emu::amdgpu
