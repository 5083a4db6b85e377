// The renderer of Abacus: a linear program as the text that assembler.h takes, and Caps, which tell
// the code generator what there is. What Caps do not name never reaches the renderer.
#pragma once

#include <memory>

#include "codegen/render/renderer.h"

namespace doorbell::abacus {

std::unique_ptr<codegen::Renderer> make_renderer();

}  // namespace doorbell::abacus
