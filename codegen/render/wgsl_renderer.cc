// What WGSL has everywhere, and what the device adds.
#include "codegen/render/wgsl_renderer.h"

#include <algorithm>

#include "base/util/check.h"
#include "codegen/render/gpu_caps.h"
#include "codegen/render/wgsl_writer.h"

namespace doorbell::codegen {

using core::Op;
using core::Scalar;

namespace {

template <bool kInt64, bool kEnables>
std::string render(const LinearProgram& program, const Caps& caps) {
  return WgslWriter(program, caps, {kInt64, kEnables}).write();
}

}  // namespace

// No MulAcc: the language's fma may round twice.
Caps wgsl_caps(const WgslTraits& traits) {
  Caps caps;
  set_graphics_ops(&caps);
  // Other narrow floats are integers in memory, converted by the lowered program itself.
  caps.dtypes.set(static_cast<usize>(Scalar::F16), traits.f16);
  caps.storage_dtypes.set(static_cast<usize>(Scalar::F16), traits.f16);
  caps.dtypes.set(static_cast<usize>(Scalar::F64), traits.f64);
  caps.storage_dtypes.set(static_cast<usize>(Scalar::F64), traits.f64);
  caps.ops.set(static_cast<usize>(Op::Reduce), traits.subgroups);  // linear/combined_load.h
  caps.vector_bytes = 0;
  caps.vector_registers = 64;
  caps.flushes_subnormals = true;  // an implementation may
  caps.max_local = traits.group_items;
  std::copy_n(traits.group_axis, 3, caps.max_local_axis);
  caps.max_shared_bytes = traits.local_bytes;
  caps.max_params = static_cast<int>(std::clamp<i64>(traits.storage_buffers, 4, 31));
  for (i64& groups : caps.max_global) groups = traits.groups;
  return caps;
}

std::unique_ptr<Renderer> make_wgsl_renderer(Caps caps, WgslDialect dialect) {
  const auto& [int64, enables] = dialect;
  CHECK(int64 || !caps.has(core::dtypes::f64), "f64 in WGSL without 64-bit integers");
  return make_source_renderer("WGSL", caps,
                              int64 ? (enables ? render<true, true> : render<true, false>)
                                    : (enables ? render<false, true> : render<false, false>));
}

}  // namespace doorbell::codegen
