// The steps of compile_kernel.
#include "codegen/compile/backend.h"

#include "base/util/log.h"
#include "base/util/try.h"
#include "codegen/compile/exit_gate.h"
#include "codegen/compile/kernel_identity.h"
#include "codegen/compile/kernel_key.h"
#include "codegen/compile/load_object.h"
#include "core/uop/print.h"

namespace doorbell::codegen {

namespace {

// Narrow floats can be computed in f32; other dtypes that a target lacks are unsupported.
Result<void> check_dtypes(const core::KernelAst& kernel, const Caps& caps) {
  const std::bitset<core::kScalarCount> dtypes = kernel_dtypes(kernel);
  for (usize i = 0; i < core::kScalarCount; ++i) {
    const core::DType t{static_cast<core::Scalar>(i), 1};
    if (!dtypes[i] || !(t.is_int() || t == core::dtypes::f64) || caps.has(t)) continue;
    return fail(ErrorKind::Unsupported,
                "this device has no {}: convert to another dtype, or compute on another device",
                core::long_name_of(t.scalar));
  }
  return {};
}

// Loads code for the host; the device loads other images.
Result<CompiledKernel> finish(KernelBinary made, const Backend& backend, bool aligned = true) {
  CompiledKernel k;
  if (aligned) k.binary.param_alignment = backend.caps.param_alignment;
  k.binary.name = made.name;
  k.binary.param_count = static_cast<u32>(made.params.size());
  k.binary.variable_count = static_cast<u32>(made.variables.size());
  k.binary.threads = made.threads;
  for (usize slot = 0; slot < made.params.size(); ++slot)
    if (made.params[slot].image) k.binary.image_params |= u64{1} << slot;
  std::copy(made.grid_groups, made.grid_groups + 3, k.binary.grid_groups);
  std::copy(made.group_items, made.group_items + 3, k.binary.group_items);
  k.binary.dynamic_shared_bytes = made.dynamic_shared_bytes;
  k.binary.tensor_maps = made.tensor_maps;
  if (backend.compiler != nullptr && backend.load) {
    TRY(k.binary.code, load_object(made.image, made.name));
  } else {
    k.binary.image = std::move(made.image);
  }
  k.params = std::move(made.params);
  k.variables = std::move(made.variables);
  k.flops = made.flops;
  k.bytes = made.bytes;
  return k;
}

// A kernel while it is compiled.
struct Draft {
  core::Arena arena;
  LinearProgram program;
  std::string source;
  std::vector<u8> image;
};

// Lowers again for smaller groups if the compiler reports that the kernel needs them. Each try
// lowers the limit, so groups of a few items are reached soon; a kernel that still does not fit
// fails on the device.
Result<std::unique_ptr<Draft>> draft_kernel(const core::KernelAst& kernel, const Backend& backend,
                                            const CompileOptions& options) {
  constexpr int kTries = 4;
  const Compiler* compiler = backend.compiler;
  Caps caps = backend.caps;
  for (int tried = 1;; ++tried) {
    auto draft = std::make_unique<Draft>();
    draft->program = lower(kernel, caps, draft->arena, options.lower);
    if (compiler == nullptr || compiler->wants_source() || options.keep_source)
      draft->source = backend.renderer->render(draft->program);
    if (compiler == nullptr) return draft;
    TRY(draft->image, compile_before_exit(*compiler, draft->program, draft->source));
    TRY(const i64 most, compiler->max_workgroup_size(draft->program, draft->image));
    const i64(&local)[3] = draft->program.group_items;
    const bool fits = most <= 0 || local[0] * local[1] * local[2] <= most;
    if (fits || tried == kTries || options.lower.plan != nullptr) return draft;
    caps.max_local = most;
  }
}

}  // namespace

Result<CompiledKernel> compile_kernel(const core::KernelAst& kernel, const Backend& backend,
                                      const CompileOptions& options) {
  bool show = options.keep_source || options.keep_linear || options.keep_code;
  const bool use_cache = backend.cache != nullptr && backend.compiler != nullptr;
  CacheKey key{};
  if (use_cache) {
    key = kernel_key(kernel, backend, options.lower);
    std::optional<KernelBinary> found = show ? std::nullopt : backend.cache->find(key);
    if (found) {
      auto loaded = finish(std::move(*found), backend, options.lower.aligned);
      if (loaded) {
        loaded->from_cache = true;
        return loaded;
      }
      log().warn("a cached kernel does not load: {}; compiling anew", loaded.error().message);
    }
  }
  TRY(check_dtypes(kernel, backend.caps));
  TRY(std::unique_ptr<Draft> draft, draft_kernel(kernel, backend, options));
  KernelBinary made = describe(draft->program);
  made.image = std::move(draft->image);
  if (use_cache) backend.cache->store(key, made);
  std::string code;
  if (options.keep_code && backend.compiler != nullptr) {
    auto text = backend.compiler->disassemble(made.image);
    code = text ? *text : to_string(text.error());
  }
  TRY(CompiledKernel k, finish(std::move(made), backend, options.lower.aligned));
  if (options.keep_source || backend.compiler == nullptr) k.source = std::move(draft->source);
  k.plan = std::move(draft->program.plan);
  if (options.keep_linear) k.linear = core::print_ops(draft->program.ops);
  k.code = std::move(code);
  return k;
}

Result<core::Binary> compile_linear(const LinearProgram& program, const Backend& backend) {
  KernelBinary made = describe(program);
  if (backend.compiler != nullptr) {
    const bool wants = backend.compiler->wants_source();
    const std::string source = wants ? backend.renderer->render(program) : "";
    TRY(made.image, compile_before_exit(*backend.compiler, program, source));
  }
  TRY(CompiledKernel kernel, finish(std::move(made), backend));
  return std::move(kernel.binary);
}

}  // namespace doorbell::codegen
