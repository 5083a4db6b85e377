// Which arguments of a kernel may be read as images: a pass over the linear program. The renderer
// writes the reads; the driver decides at each launch whether to use images.
#pragma once

#include "codegen/caps.h"
#include "codegen/linear/program.h"

namespace doorbell::codegen {

// Sets ProgramParam::image of parameters of f32 that are only read, and only in groups of four that
// begin at multiples of four, and that have at most Caps::image_texels such groups.
void mark_images(const Caps& caps, LinearProgram* program);

}  // namespace doorbell::codegen
