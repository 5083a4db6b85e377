// The renderer of the Metal Shading Language, and the Caps of Apple's GPUs. drivers/metal has Metal
// compile the text; runtime/ queries the device.
#pragma once

#include <memory>

#include "codegen/render/renderer.h"

namespace doorbell::codegen {

// The properties that a device reports.
struct MetalTraits {
  bool bfloat = false;      // MSL 3.1
  bool matrices = false;    // of simdgroups: M1 and later
  i64 group_bytes = 32768;  // maxThreadgroupMemoryLength
};
Caps metal_caps(const MetalTraits& traits);

// A kernel's arguments: [[buffer(slot)]] for each buffer, which begins where the kernel's memory
// does; then one buffer with the variables (long), in order. Groups and items are
// LinearProgram::grid_groups and group_items.
std::unique_ptr<Renderer> make_metal_renderer(Caps caps);

}  // namespace doorbell::codegen
