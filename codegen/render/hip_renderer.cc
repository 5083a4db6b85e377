// HIP: the frame, work groups, and square roots, because comgr's compilers round theirs once too
// often.
#include "codegen/render/hip_renderer.h"

#include <fmt/format.h>

#include "base/util/check.h"
#include "codegen/render/clang_writer.h"

namespace doorbell::codegen {

using core::DType;
using core::Op;
using core::Scalar;
using core::UOp;

namespace {

constexpr std::string_view kPrelude =
    "typedef signed char i8; typedef unsigned char u8, b8;\n"
    "typedef short i16; typedef unsigned short u16;\n"
    "typedef int i32; typedef unsigned int u32;\n"
    "typedef long i64; typedef unsigned long u64;\n"
    "typedef float f32; typedef double f64;\n"
    "#define FN static inline __attribute__((device, always_inline))\n"
    "#define HAVE_HALF\n";

// The instruction is off by one unit at most: of the neighbours, the one whose square is nearest by
// the sign of what is left. It takes subnormals for zeros, so small numbers are scaled.
constexpr std::string_view kSqrtF32 = R"(FN f32 sqrt_f32(f32 x) {
  b8 small = x < 0x1p-96f;
  f32 a = small ? x * 0x1p+32f : x;
  f32 s = __builtin_amdgcn_sqrtf(a), below, above;
  u32 n, bits;
  __builtin_memcpy(&n, &s, 4);
  bits = n - 1; __builtin_memcpy(&below, &bits, 4);
  bits = n + 1; __builtin_memcpy(&above, &bits, 4);
  f32 r = __builtin_fmaf(-below, s, a) <= 0 ? below : s;
  r = __builtin_fmaf(-above, s, a) > 0 ? above : r;
  r = small ? r * 0x1p-16f : r;
  return a == 0 || a == __builtin_inff() ? x : r;
}
)";

// Newton's steps from the reciprocal root, which the instruction gives to half the digits.
constexpr std::string_view kSqrtF64 = R"(FN f64 sqrt_f64(f64 x) {
  b8 small = x < 0x1p-767;
  f64 a = small ? x * 0x1p+256 : x;
  f64 y = __builtin_amdgcn_rsq(a), g = a * y, h = y * 0.5;
  f64 r = __builtin_fma(-h, g, 0.5);
  h = __builtin_fma(h, r, h);
  g = __builtin_fma(g, r, g);
  g = __builtin_fma(__builtin_fma(-g, g, a), h, g);
  g = __builtin_fma(__builtin_fma(-g, g, a), h, g);
  g = small ? g * 0x1p-128 : g;
  return a == 0 || a == __builtin_inf() ? x : g;
}
)";

class HipWriter final : public ClangWriter {
 public:
  using ClangWriter::ClangWriter;

 private:
  std::string math(Op op, DType t, const std::string& x) override {
    if (op != Op::Sqrt) return ClangWriter::math(op, t, x);
    CHECK(t.lanes == 1, "a vector of {} in HIP", t.str());
    bool& used = t.scalar == Scalar::F32 ? sqrt_f32_ : sqrt_f64_;
    used = true;
    return fmt::format("sqrt_{}({})", t.str(), x);
  }

  std::string special(UOp u) override {
    const auto kind = static_cast<core::SpecialKind>(u.arg(0));
    CHECK(kind != core::SpecialKind::ThreadId, "a worker thread's number in HIP");
    return fmt::format("({})__builtin_amdgcn_work{}_id_{}()", type_name(u.dtype()),
                       kind == core::SpecialKind::GroupId ? "group" : "item",
                       static_cast<char>('x' + u.arg(1)));
  }

  std::string array(std::string_view attributes, UOp u, const std::string& name) {
    return fmt::format("{}__attribute__((aligned(64))) {} {}[{}];", attributes,
                       memory_type(u.dtype()), name, u.arg(1));
  }
  std::string private_array(UOp u, const std::string& name) override { return array("", u, name); }
  std::string local_array(UOp u, const std::string& name) override {
    return array("static __attribute__((shared)) ", u, name);
  }
  std::string barrier(core::UOp) override {
    return "__builtin_amdgcn_fence(__ATOMIC_RELEASE, \"workgroup\"); __builtin_amdgcn_s_barrier(); "
           "__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, \"workgroup\");";
  }

  std::string frame(const std::string& body) override;

  bool sqrt_f32_ = false, sqrt_f64_ = false;
};

std::string HipWriter::frame(const std::string& body) {
  const std::string signature = parameters();  // before the helpers that its types need
  const i64(&items)[3] = program_.group_items;
  const i64 all = items[0] * items[1] * items[2];
  return fmt::format(
      "{}{}{}{}extern \"C\" __attribute__((global, amdgpu_flat_work_group_size({}, {})))\n"
      "void {}({}) {{\n{}}}\n",
      kPrelude, sqrt_f32_ ? kSqrtF32 : "", sqrt_f64_ ? kSqrtF64 : "", helpers_.source(), all, all,
      program_.name, signature, body);
}

}  // namespace

Caps hip_caps(const amd::hw::Chip& chip, i64 compute_units) {
  Caps caps = amd_caps(chip, compute_units);
  caps.dtypes.reset(static_cast<usize>(Scalar::F16));
  caps.vector_bytes = 0;
  caps.vector_registers = 64;
  caps.tensor_cores.reset();
  caps.transposing_loads = false;
  caps.param_alignment = 1;
  for (Op op : {Op::Exp2, Op::Log2}) caps.ops.reset(static_cast<usize>(op));
  return caps;
}

std::unique_ptr<Renderer> make_hip_renderer(Caps caps) {
  return make_source_renderer("HIP", caps, [](const LinearProgram& program, const Caps&) {
    return HipWriter(program).write();
  });
}

}  // namespace doorbell::codegen
