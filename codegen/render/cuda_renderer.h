// The CUDA renderer: CUDA C++ without NVIDIA's headers. nvrtc_compiler.h compiles the text.
#pragma once

#include <memory>

#include "codegen/render/nv_caps.h"
#include "codegen/render/renderer.h"

namespace doorbell::codegen {

// What nv_caps() says, with f16 computed in f32.
Caps cuda_caps(const nv::hw::Chip& chip, NvTarget target = {});

// Arguments, groups and items as in docs/hw/nv-code.md.
std::unique_ptr<Renderer> make_cuda_renderer(Caps caps);

}  // namespace doorbell::codegen
