// MSL: the frame, work groups, vectors and memory. Roots and quotients are rounded once where the
// compiler's fast math is off, as the driver has it [MSL 4, 8.1 "INF, NaN, and Denormalized
// Numbers", 8.4 "ULPs and Relative Error"]. Nothing is assumed about aliasing: several arguments
// may lie in one buffer.
#include "codegen/render/metal_renderer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/util/check.h"
#include "codegen/render/gpu_caps.h"
#include "codegen/render/memory.h"
#include "codegen/render/metal_helpers.h"
#include "codegen/render/wrapping_writer.h"

namespace doorbell::codegen {

using core::DType;
using core::Op;
using core::Scalar;
using core::UOp;

namespace {

constexpr std::string_view kPrelude =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    "#define FN static inline\n";

class MetalWriter final : public WrappingWriter {
 public:
  using WrappingWriter::WrappingWriter;

 private:
  CStyleHelpers& helpers() override { return helpers_; }

  std::string special_float(DType t, f64 value) override {
    const std::string_view bits = std::isnan(value) ? "0x7fc00000u"
                                  : value < 0       ? "0xff800000u"
                                                    : "0x7f800000u";
    return fmt::format("(({})as_type<float>({}))", type_name(t), bits);
  }

  std::string math(Op op, DType, const std::string& x) override {
    return fmt::format("{}({})", op == Op::Sqrt ? "precise::sqrt" : "trunc", x);
  }

  std::string vector(UOp u) override;
  // vector() writes all there is of vectors.
  std::string vector_of(DType t, const std::string&) override {
    UNREACHABLE("lanes of {} by the language", t.str());
  }
  std::string lanes_of(const std::string& vector, i64, i64) override {
    UNREACHABLE("lanes of {} by the language", vector);
  }

  std::string special(UOp u) override {
    const auto kind = static_cast<core::SpecialKind>(u.arg(0));
    CHECK(kind != core::SpecialKind::ThreadId, "a worker thread's number in MSL");
    return fmt::format("({}){}.{}", type_name(u.dtype()),
                       kind == core::SpecialKind::GroupId ? "group" : "item",
                       static_cast<char>('x' + u.arg(1)));
  }
  std::string variable(DType t, usize position) override {
    return fmt::format("(({})n[{}])", type_name(t), position);
  }

  std::string array(std::string_view space, UOp u, const std::string& name) {
    return fmt::format("{}{} {}[{}] __attribute__((aligned(16)));", space, memory_type(u.dtype()),
                       name, u.arg(1));
  }
  std::string private_array(UOp u, const std::string& name) override { return array("", u, name); }
  std::string local_array(UOp u, const std::string& name) override {
    return array("threadgroup ", u, name);
  }
  std::string barrier(UOp) override { return "threadgroup_barrier(mem_flags::mem_threadgroup);"; }

  std::string matrix(UOp u) override {
    return fmt::format("{}({}, {}, {})", helpers_.matrix(tensor_core(u.arg(0))), text(u.src(0)),
                       text(u.src(1)), text(u.src(2)));
  }

  // A vector in memory as a value: "*(device const floatx4*)(p0 + i)".
  std::string place(UOp index, DType t, bool written);
  // "c ? a : b" takes no two structs in different address spaces: both become values.
  std::string load(UOp u) override {
    const UOp index = u.src(0);
    if (u.dtype().lanes == 1 || index.nsrc() < 3) return WrappingWriter::load(u);
    return fmt::format("({0} ? ({1}){2} : ({1}){3})", text(index.src(2)), type_name(u.dtype()),
                       load_vector(u), text(u.src(1)));
  }
  std::string load_vector(UOp u) override { return place(u.src(0), u.dtype(), false); }
  std::string store_vector(UOp u) override {
    return fmt::format("{} = {};", place(u.src(0), u.src(1).dtype(), true), text(u.src(1)));
  }
  std::string frame(const std::string& body) override;

  MetalHelpers helpers_;
};

std::string MetalWriter::place(UOp index, DType t, bool written) {
  CHECK(index.nsrc() < 3 || index.src(2).dtype().lanes == 1, "lanes of an access have gates");
  const UOp memory = memory_of(index);
  const std::string_view space = memory.is(Op::Param)         ? "device"
                                 : memory.is(Op::DefineLocal) ? "threadgroup"
                                                              : "thread";
  const i64 alignment = std::min<i64>(16, known_alignment(program_, index, t));
  const std::string value = type_name(t), at = helpers_.vector_at(t, alignment);
  return fmt::format("(*({} {}{}*)({})){}", space, written ? "" : "const ", at, address(index),
                     at == value ? "" : ".lanes");
}

std::string MetalWriter::vector(UOp u) {
  const DType t = u.dtype();
  const auto lane = [&](UOp from, i64 number) {
    return from.dtype().lanes == 1 ? text(from) : fmt::format("{}.v[{}]", text(from), number);
  };
  if (u.is(Op::Lane) && t.lanes == 1) return lane(u.src(0), u.arg(0));
  std::string lanes;
  // "x ? 0 : y" of a narrow y is an int, which a list of lanes must not narrow.
  const bool narrows = t.bits() < 32 && t.scalar != Scalar::F16;
  const auto part = [&](UOp from) {
    return narrows ? fmt::format("({})({})", type_name(t.element()), text(from)) : text(from);
  };
  for (i64 i = 0; i < t.lanes; ++i) {
    lanes += i ? ", " : "";
    switch (u.op()) {
      case Op::Splat: lanes += part(u.src(0)); break;
      case Op::Vec: lanes += part(u.src(static_cast<usize>(i))); break;
      case Op::Lane: lanes += lane(u.src(0), u.arg(0) + i); break;
      default: UNREACHABLE("{} of {} in MSL", core::name_of(u.op()), t.str());
    }
  }
  return fmt::format("{}{{{{{}}}}}", type_name(t), lanes);
}

std::string MetalWriter::frame(const std::string& body) {
  std::string parameters;
  for (usize i = 0; i < program_.params.size(); ++i) {
    const ProgramParam& p = program_.params[i];
    parameters += fmt::format("device {}{}* {} [[buffer({})]], ", p.written ? "" : "const ",
                              memory_type(p.dtype.element()), param_name(static_cast<i64>(i)), i);
  }
  if (!program_.variables.empty())
    parameters += fmt::format("constant long* n [[buffer({})]], ", program_.params.size());
  const i64(&items)[3] = program_.group_items;
  return fmt::format(
      "{}{}[[max_total_threads_per_threadgroup({})]] kernel void {}(\n    {}"
      "uint3 group [[threadgroup_position_in_grid]],\n    "
      "uint3 item [[thread_position_in_threadgroup]]) {{\n{}}}\n",
      kPrelude, helpers_.source(), items[0] * items[1] * items[2], program_.name, parameters, body);
}

}  // namespace

// [Apple, "Metal Feature Set Tables": buffers of a function 31, threads of a threadgroup 1024; MSL
// 4, 8.1: subnormal f32 may be zero]
Caps metal_caps(const MetalTraits& traits) {
  Caps caps;
  set_graphics_ops(&caps);
  caps.ops.set(static_cast<usize>(Op::MulAcc));
  caps.dtypes.set(static_cast<usize>(Scalar::F16));
  caps.storage_dtypes.set(static_cast<usize>(Scalar::F16));
  // Without bfloat it is an integer in memory, converted by the lowered program itself.
  caps.storage_dtypes.set(static_cast<usize>(Scalar::BF16), traits.bfloat);
  caps.vector_bytes = 16;
  caps.vector_arithmetic = false;
  caps.vector_registers = 64;
  caps.flushes_subnormals = true;
  caps.max_local = 1024;
  for (i64& items : caps.max_local_axis) items = 1024;
  caps.max_shared_bytes = traits.group_bytes;
  caps.max_params = 30;  // and one for the variables
  for (usize i = 0; i < kTensorCoreCount && traits.matrices; ++i) {
    const TensorCore& core = tensor_cores()[i];
    const bool is_apple = std::string_view(core.name).starts_with("simdgroup_");
    caps.tensor_cores[i] = is_apple && (core.operand != Scalar::BF16 || traits.bfloat);
  }
  // Of 32 bits: 384 KiB for 768 threads that use most. [philipturner/metal-benchmarks README.md,
  // "Layout of an M1 GPU Core", at 007b009]
  caps.simd.max_registers = 128;
  for (i64& groups : caps.max_global) groups = INT32_MAX;
  return caps;
}

std::unique_ptr<Renderer> make_metal_renderer(Caps caps) {
  return make_source_renderer("MSL", caps, [](const LinearProgram& program, const Caps&) {
    return MetalWriter(program).write();
  });
}

}  // namespace doorbell::codegen
