// Renderer: a linear program as source text for a compiler or a reader. Which compiler takes it is
// codegen/compile's; what a target can do is said once, in Caps.
#pragma once

#include <string>
#include <string_view>

#include "codegen/caps.h"
#include "codegen/linear/program.h"

namespace doorbell::codegen {

class Renderer {
 public:
  virtual ~Renderer() = default;
  virtual std::string_view name() const = 0;  // as in DEV=CPU:CLANG
  virtual const Caps& caps() const = 0;
  // Total: a linear program that holds what caps() does not offer is our own mistake (CHECK).
  virtual std::string render(const LinearProgram& program) const = 0;
};

}  // namespace doorbell::codegen
