// The HIP renderer: AMD's dialect of C++ for GPUs, without its headers and device libraries, so
// that any clang with the language takes it. comgr_compiler.h compiles the text.
#pragma once

#include <memory>

#include "codegen/render/amd_caps.h"
#include "codegen/render/renderer.h"

namespace doorbell::codegen {

// What amd_caps() says, in scalars: vectors of loads and stores LLVM finds itself.
Caps hip_caps(const amd::hw::Chip& chip, i64 compute_units = 0);

// Arguments, groups and items as in docs/hw/amd-code-objects.md.
std::unique_ptr<Renderer> make_hip_renderer(Caps caps);

}  // namespace doorbell::codegen
