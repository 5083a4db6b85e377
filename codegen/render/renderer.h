// Renderer: a linear program as source text for a compiler or a reader. codegen/compile chooses the
// compiler; Caps describe the target.
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
  // Renders every program within caps(); one beyond them is a bug (CHECK).
  virtual std::string render(const LinearProgram& program) const = 0;
};

}  // namespace doorbell::codegen
