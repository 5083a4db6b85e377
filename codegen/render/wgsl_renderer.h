// The WGSL renderer, and the Caps of WebGPU devices. drivers/webgpu compiles the text; runtime/
// queries the device.
#pragma once

#include <memory>

#include "codegen/render/renderer.h"

namespace doorbell::codegen {

// The properties that a device reports; what WebGPU guarantees everywhere [WebGPU 3.6.2 "Limits"].
struct WgslTraits {
  bool f16 = false;  // shader-f16
  bool f64 = false;  // wgpu-native's, with 64-bit integers
  bool subgroups = false;
  i64 group_items = 256;  // maxComputeInvocationsPerWorkgroup, and by axis
  i64 group_axis[3] = {256, 256, 64};
  i64 groups = 65535;       // maxComputeWorkgroupsPerDimension
  i64 local_bytes = 16384;  // maxComputeWorkgroupStorageSize
  i64 storage_buffers = 8;  // maxStorageBuffersPerShaderStage
};
Caps wgsl_caps(const WgslTraits& traits);

// What a compiler has beside its Caps.
struct WgslDialect {
  // 64-bit integers are the language's own, as in wgpu-native's, and not pairs of words. f64 needs
  // them.
  bool int64 = false;
  // Subgroups are an extension that kernels enable, as in the standard; wgpu-native 29 knows none.
  bool enables_subgroups = false;
};

// How kernels take their arguments: drivers/webgpu/hw/abi/bindings.h. Groups and items are
// LinearProgram::grid_groups and group_items.
std::unique_ptr<Renderer> make_wgsl_renderer(Caps caps, WgslDialect dialect = {});

}  // namespace doorbell::codegen
