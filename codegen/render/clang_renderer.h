// The C renderer of the CPU: freestanding C for clang, with its vector extension.
#pragma once

#include <memory>

#include "codegen/render/renderer.h"

namespace doorbell::codegen {

std::unique_ptr<Renderer> make_clang_renderer(Caps caps);

}  // namespace doorbell::codegen
