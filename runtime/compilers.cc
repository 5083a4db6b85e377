// Lowers, renders, compiles and loads a kernel with the renderer and compiler that its device was
// opened with. Each pair is made when it is first needed.
#include "runtime/compilers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "codegen/compile/clang_compiler.h"
#include "codegen/compile/llvm_compiler.h"
#include "codegen/compile/load_object.h"
#include "codegen/lower/lower.h"
#include "codegen/render/clang_renderer.h"
#include "codegen/render/cpu_caps.h"
#include "core/uop/print.h"
#include "core/util/config.h"

namespace doorbell::runtime {
namespace {

struct Pair {
  std::unique_ptr<codegen::Renderer> renderer;
  std::unique_ptr<codegen::Compiler> compiler;
};

Result<Pair> make_pair(const std::string& renderer, int threads) {
  codegen::Caps caps = codegen::cpu_caps();
  caps.threads = threads;
  if (renderer == "CLANG") {
    TRY(std::unique_ptr<codegen::Compiler> compiler, codegen::make_clang_compiler());
    return Pair{codegen::make_clang_renderer(caps), std::move(compiler)};
  }
  CHECK(renderer == "LLVM", "renderer {} is in the table, but not made here", renderer);
  return Pair{codegen::make_llvm_renderer(caps), codegen::make_llvm_compiler()};
}

// The text that DEBUG asks for, levels 4 to 7.
std::string report(const Pair& pair, const core::KernelAst& kernel,
                   const codegen::LinearProgram& program, std::span<const u8> image) {
  const int debug = core::config().debug;
  std::string text;
  if (debug >= 5) {
    // Printing marks the arena's nodes, and a kernel may be compiled for two devices at once.
    static std::mutex& mutex = *new std::mutex;
    std::lock_guard lock(mutex);
    text += core::print(*kernel.arena, kernel.sink) + "\n";
  }
  if (debug >= 6) text += core::print_ops(program.ops) + "\n";
  if (debug >= 4) text += pair.renderer->render(program) + "\n";
  if (debug >= 7) {
    Result<std::string> listing = pair.compiler->disassemble(image);
    text += listing ? *listing : "no listing: " + listing.error().message;
  }
  return text;
}

class Compilers final : public engine::KernelCompiler {
 public:
  Result<engine::CompiledKernel> compile(const core::KernelAst& kernel,
                                         core::Device& device) override {
    TRY(const Pair* pair, pair_of(device));
    core::Arena arena;
    codegen::LowerOptions options;
    options.optimise = !core::config().noopt;
    const codegen::LinearProgram program =
        codegen::lower(kernel, pair->renderer->caps(), arena, options);
    std::string source;
    if (pair->compiler->wants_source()) source = pair->renderer->render(program);
    TRY(std::vector<u8> image, pair->compiler->compile(program, source));
    engine::CompiledKernel compiled;
    compiled.report = report(*pair, kernel, program, image);
    compiled.variables = program.variables;
    compiled.flops = program.flops;
    compiled.bytes = program.bytes;
    core::Binary& binary = compiled.binary;
    binary.name = program.name;
    binary.param_count = static_cast<u32>(program.params.size());
    binary.variable_count = static_cast<u32>(program.variables.size());
    binary.threads = program.threads;
    std::copy_n(program.global_size, 3, binary.global_size);
    std::copy_n(program.local_size, 3, binary.local_size);
    if (device.runs()) {
      TRY(binary.code, codegen::load_object(image, program.name));
    }
    binary.image = std::move(image);
    return compiled;
  }

  u32 max_buffers(core::Device&) override { return 31; }

 private:
  Result<const Pair*> pair_of(core::Device& device) {
    // The number of workers decides how loops are split, so it is part of the choice.
    const std::string& renderer = device.spec().renderer;
    const std::string key = fmt::format("{}:{}", renderer, device.threads());
    std::lock_guard lock(mutex_);
    const auto found = pairs_.find(key);
    if (found != pairs_.end()) return &found->second;
    TRY(Pair made, make_pair(renderer, device.threads()));
    return &pairs_.emplace(key, std::move(made)).first->second;
  }

  std::mutex mutex_;  // guards pairs_; a pair, once made, stays where it is
  std::map<std::string, Pair> pairs_;
};

}  // namespace

engine::KernelCompiler& compilers() {
  static Compilers& compilers = *new Compilers;  // never freed: kernels may compile while we exit
  return compilers;
}

}  // namespace doorbell::runtime
