// Which arguments of a kernel may be read as images: a pass over the linear program. How an image
// is read is the renderer's, whether a launch does so the driver's.
#pragma once

#include "codegen/caps.h"
#include "codegen/linear/program.h"

namespace doorbell::codegen {

// Sets ProgramParam::image of parameters of f32 that are only read, and only in groups of four that
// begin at multiples of four; of those that have no more than Caps::image_texels of them.
void mark_images(const Caps& caps, LinearProgram* program);

}  // namespace doorbell::codegen
