// The renderer of Abacus: a linear program as the text that assembler.h takes, and Caps, which
// describe the chip to the code generator. Operations that are not in Caps never reach the
// renderer.
#pragma once

#include <memory>

#include "codegen/render/renderer.h"

namespace doorbell::abacus {

std::unique_ptr<codegen::Renderer> make_renderer();

}  // namespace doorbell::abacus
