// Renderer: a linear program as source text for a compiler or a reader. codegen/compile chooses the
// compiler; Caps describe the target.
#pragma once

#include <memory>
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

// A renderer of which nothing but its caps decides what the text is.
std::unique_ptr<Renderer> make_source_renderer(std::string_view name, Caps caps,
                                               std::string (*render)(const LinearProgram& program,
                                                                     const Caps& caps));

}  // namespace doorbell::codegen
