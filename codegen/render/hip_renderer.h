// The HIP renderer: AMD's dialect of C++ for GPUs, without its headers and device libraries, so
// that any clang with the language takes it. comgr_compiler.h compiles the text.
#pragma once

#include <memory>

#include "codegen/render/amd_caps.h"
#include "codegen/render/renderer.h"

namespace doorbell::codegen {

// amd_caps(), but scalar: LLVM finds vector loads and stores itself.
Caps hip_caps(const amd::hw::Chip& chip, i64 compute_units = 0);

// For arguments, groups and items see docs/hw/amd-code-objects.md.
std::unique_ptr<Renderer> make_hip_renderer(Caps caps);

}  // namespace doorbell::codegen
