// The steps of compile_kernel, and the key under which the cache knows a kernel.
#include "codegen/compile/backend.h"

#include <fmt/format.h>

#include "base/util/log.h"
#include "codegen/compile/build_id.h"
#include "codegen/compile/kernel_identity.h"
#include "codegen/compile/load_object.h"
#include "core/uop/print.h"

namespace doorbell::codegen {

namespace {

std::string describe_caps(const Caps& c) {
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}", c.ops.to_string(),
                     c.dtypes.to_string(), c.storage_dtypes.to_string(), c.masked_access,
                     c.has_local, c.narrow_index, c.host_threads, c.vector_bytes,
                     c.vector_registers, c.l1_bytes, c.l2_bytes, c.threads, c.max_params,
                     fmt::join(c.max_global, " "), c.max_local,
                     fmt::join(c.max_local_axis, " "), c.max_shared_bytes,
                     c.fast_shared, c.busy_items);
}

// Everything that decides the result. Each part ends in a NUL so that parts do not run together.
CacheKey key_of(const core::KernelAst& kernel, const Backend& b, const LowerOptions& options) {
  std::string text;
  for (const std::string& part :
       {build_id(), std::string(b.renderer->name()), b.compiler->key(),
        std::string(options.optimise ? "" : "NOOPT"), describe_caps(b.caps)}) {
    text.append(part).push_back('\0');
  }
  return make_cache_key(text + kernel_identity(kernel));
}

// Narrow floats can be computed in f32; for other dtypes that a target lacks there is no way.
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

// Code of the host is loaded here; other images are left to the device.
Result<CompiledKernel> finish(KernelBinary made, const Backend& backend) {
  CompiledKernel k;
  k.binary.name = made.name;
  k.binary.param_count = static_cast<u32>(made.params.size());
  k.binary.variable_count = static_cast<u32>(made.variables.size());
  k.binary.threads = made.threads;
  std::copy(made.global_size, made.global_size + 3, k.binary.global_size);
  std::copy(made.local_size, made.local_size + 3, k.binary.local_size);
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

}  // namespace

Result<CompiledKernel> compile_kernel(const core::KernelAst& kernel, const Backend& backend,
                                      const CompileOptions& options) {
  bool show = options.keep_source || options.keep_linear || options.keep_code;
  bool use_cache =
      backend.cache != nullptr && backend.compiler != nullptr && options.lower.plan == nullptr;
  CacheKey key{};
  if (use_cache) {
    key = key_of(kernel, backend, options.lower);
    std::optional<KernelBinary> found = show ? std::nullopt : backend.cache->find(key);
    if (found) {
      auto loaded = finish(std::move(*found), backend);
      if (loaded) {
        loaded->from_cache = true;
        return loaded;
      }
      log().warn("a cached kernel does not load: {}; compiling anew", loaded.error().message);
    }
  }
  TRY(check_dtypes(kernel, backend.caps));
  core::Arena arena;
  LinearProgram program = lower(kernel, backend.caps, arena, options.lower);
  KernelBinary made = describe(program);
  std::string source, code;
  bool wants_source = backend.compiler == nullptr || backend.compiler->wants_source();
  if (wants_source || options.keep_source) source = backend.renderer->render(program);
  if (backend.compiler != nullptr) {
    TRY(made.image, backend.compiler->compile(program, source));
    if (use_cache) backend.cache->store(key, made);
  }
  if (options.keep_code && backend.compiler != nullptr) {
    auto text = backend.compiler->disassemble(made.image);
    code = text ? *text : to_string(text.error());
  }
  TRY(CompiledKernel k, finish(std::move(made), backend));
  if (options.keep_source || backend.compiler == nullptr) k.source = std::move(source);
  if (options.keep_linear) k.linear = core::print_ops(program.ops);
  k.code = std::move(code);
  return k;
}

}  // namespace doorbell::codegen
