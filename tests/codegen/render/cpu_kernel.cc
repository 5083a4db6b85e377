// Compiling and running test kernels.
#include "tests/codegen/render/cpu_kernel.h"

#include <map>

#include "base/util/check.h"
#include "codegen/compile/clang_compiler.h"
#include "codegen/compile/llvm_compiler.h"
#include "codegen/render/clang_renderer.h"
#include "codegen/render/cpu_caps.h"
#include "tests/codegen/render/cuda_on_host.h"

namespace doorbell::codegen::testing {

std::vector<std::string> cpu_targets() {
  if (has_llvm()) return {"LLVM", "CLANG"};
  return {"CLANG"};
}

std::vector<std::string> scalar_targets() {
  std::vector<std::string> targets = cpu_targets();
  targets.push_back("CUDA");
  targets.insert(targets.end(), nv_targets().begin(), nv_targets().end());
  return targets;
}

const CpuTarget& cpu_target(const std::string& name) {
  static auto* targets = new std::map<std::string, CpuTarget>;
  auto [it, fresh] = targets->try_emplace(name);
  CpuTarget& target = it->second;
  if (!fresh) return target;
  target.name = name;
  if (name == "LLVM") {
    target.renderer = make_llvm_renderer(cpu_caps());
    target.compiler = make_llvm_compiler();
  } else if (name == kAvx2) {
    Result<Caps> caps = cpu_caps_of("x86-64-v3");
    if (!has_llvm() || !caps) {
      target.missing = has_llvm() ? caps.error().message : "this build has no LLVM";
      return target;
    }
    target.renderer = make_llvm_renderer(*caps);
    target.compiler = make_llvm_compiler({LlvmTarget::Family::Host, "x86-64-v3"});
  } else if (name == "CUDA") {
    target.renderer = make_cuda_host_renderer();
    target.compiler = make_cuda_host_compiler();
  } else if (is_nv_target(name)) {
    NvToolchain nv = make_nv_toolchain(name);
    target.renderer = std::move(nv.renderer);
    if (nv.compiler)
      target.compiler = std::move(*nv.compiler);
    else
      target.missing = nv.compiler.error().message;
  } else {
    target.renderer = make_clang_renderer(cpu_caps());
    auto compiler = make_clang_compiler();
    CHECK(compiler.has_value(), "{}", to_string(compiler.error()));
    target.compiler = std::move(*compiler);
  }
  return target;
}

RunningKernel compile_for(const CpuTarget& target, const LinearProgram& program) {
  std::string source;
  if (target.compiler->wants_source()) source = target.renderer->render(program);
  auto object = target.compiler->compile(program, source);
  CHECK(object.has_value(), "{}", to_string(object.error()));
  if (is_nv_target(target.name)) {
    auto cubin = emu::nvgpu::Cubin::parse(*object);
    CHECK(cubin.has_value(), "{}", to_string(cubin.error()));
    (*cubin)->place(0);
    return {{}, std::make_shared<NvKernel>(program, std::move(*cubin))};
  }
  auto code = load_object(*object, program.name);
  CHECK(code.has_value(), "{}\n{}", to_string(code.error()), source);
  return {std::move(*code), nullptr};
}

}  // namespace doorbell::codegen::testing
