// Topology: what the kernel tells of each GPU, read from the files of
// /sys/devices/virtual/kfd/kfd/topology. See caps.h for what a chip can do beyond these numbers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/os/files.h"
#include "drivers/amd/hw/topology.h"

namespace doorbell::amd {

// What the kernel does not tell is 0, but for the XCCs, of which there is one.
struct NodeProperties : hw::NodeProperties {
  // Of one XCC where there are several.
  u64 compute_units() const { return simd_count / simd_per_cu / num_xcc; }
  // Of all XCCs together.
  u64 shader_engines() const { return array_count / simd_arrays_per_engine; }
};

struct Node {
  u32 number = 0;    // in the topology
  u32 gpu_id = 0;    // as ioctls want it
  std::string name;  // "gfx1100" or a code name; may be empty
  NodeProperties properties;
};

// "name value" lines. A number that cannot be one, and properties with which nothing can be
// computed, are refused; names that we do not know are passed over.
Result<NodeProperties> parse_properties(std::string_view text);

// The GPUs, by number. None is no error; that there is no topology is. One whose properties cannot
// be read or used is passed over, with a line in the log.
Result<std::vector<Node>> read_topology(os::Files& files);

}  // namespace doorbell::amd
