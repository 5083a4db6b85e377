// The OpenCL C renderer, and the Caps of OpenCL devices. drivers/cl compiles the text; runtime/
// queries the device.
#pragma once

#include <memory>

#include "codegen/render/renderer.h"

namespace doorbell::codegen {

// The properties that a device reports.
struct OpenClTraits {
  bool f16 = false, f64 = false;  // arithmetic: cl_khr_fp16, cl_khr_fp64
  bool fma = false;               // a fused multiply-add in hardware
  bool subnormals = true;         // of f32
  i64 group_items = 1;            // in a work group, and by axis
  i64 group_axis[3] = {1, 1, 1};
  i64 local_bytes = 0;        // of its shared memory
  i64 argument_bytes = 1024;  // of a kernel, all together
  i64 image_texels = 0;       // of an image over a buffer; 0: read none
};
Caps opencl_caps(const OpenClTraits& traits);

// A kernel's arguments: by slot, the buffer and the byte offset at which the kernel's memory begins
// (ulong), because OpenCL's sub-buffers cannot begin anywhere; then the variables (long), in order.
// Groups and items are LinearProgram::grid_groups and group_items. Where ProgramParam::image says
// that something may be an image, the text has a second kernel, name + "_images", of which those
// arguments are images over the whole buffer (image1d_buffer_t, RGBA of f32) and the byte, a
// multiple of 16.
std::unique_ptr<Renderer> make_opencl_renderer(Caps caps);

}  // namespace doorbell::codegen
