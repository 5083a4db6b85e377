// Finds the family of a GPU in the kernel's topology.
#include <fstream>
#include <string>

#include "drivers/amd/hw/topology.h"
#include "tools/trace/recorder.h"

namespace doorbell::tools {

std::optional<amd::hw::Generation> generation_of_gpu(u32 gpu_id) {
  // Nodes are numbered without gaps.
  for (int node = 0;; ++node) {
    const std::string folder =
        std::string(amd::hw::kTopologyNodes) + '/' + std::to_string(node) + '/';
    std::ifstream id_file(folder + std::string(amd::hw::kNodeGpuId));
    if (!id_file) return std::nullopt;
    u32 id = 0;
    if (!(id_file >> id) || id != gpu_id) continue;
    std::ifstream properties(folder + std::string(amd::hw::kNodeProperties));
    std::string name;
    for (u64 value = 0; properties >> name >> value;)
      if (name == "gfx_target_version") return amd::hw::generation_of_version(value);
  }
}

}  // namespace doorbell::tools
