// A renderer that has no state but its caps.
#include "codegen/render/renderer.h"

#include <memory>
#include <string>
#include <string_view>

namespace doorbell::codegen {
namespace {

using Render = std::string (*)(const LinearProgram&, const Caps&);

class SourceRenderer final : public Renderer {
 public:
  SourceRenderer(std::string_view name, Caps caps, Render render)
      : name_(name), caps_(caps), render_(render) {}
  std::string_view name() const override { return name_; }
  const Caps& caps() const override { return caps_; }
  std::string render(const LinearProgram& program) const override {
    return render_(program, caps_);
  }

 private:
  const std::string name_;
  const Caps caps_;
  const Render render_;
};

}  // namespace

std::unique_ptr<Renderer> make_source_renderer(std::string_view name, Caps caps, Render render) {
  return std::make_unique<SourceRenderer>(name, caps, render);
}

}  // namespace doorbell::codegen
