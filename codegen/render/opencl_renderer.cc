// OpenCL C 1.2: the frame, work groups, vectors and memory. Nothing is assumed about aliasing:
// several arguments may lie in one buffer.
#include "codegen/render/opencl_renderer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/util/check.h"
#include "codegen/render/gpu_caps.h"
#include "codegen/render/memory.h"
#include "codegen/render/opencl_helpers.h"
#include "codegen/render/wrapping_writer.h"

namespace doorbell::codegen {

using core::DType;
using core::Op;
using core::Scalar;
using core::UOp;

namespace {

// Fused operations are written as fma, so nothing else may be fused.
constexpr std::string_view kPrelude =
    "#pragma OPENCL FP_CONTRACT OFF\n"
    "#define FN static inline\n";

class OpenClWriter final : public WrappingWriter {
 public:
  // `images`: only the second kernel, which shares the helpers of the first.
  OpenClWriter(const LinearProgram& program, const Caps& caps, bool images)
      : WrappingWriter(program),
        caps_(caps),
        images_(images),
        helpers_(caps.has(core::dtypes::f16)) {}

 private:
  CStyleHelpers& helpers() override { return helpers_; }

  std::string special_float(DType t, f64 value) override {
    const std::string_view name = std::isnan(value) ? "NAN" : "INFINITY";
    return fmt::format("(({}){}{})", type_name(t), value < 0 ? "-" : "", name);
  }

  std::string math(Op op, DType, const std::string& x) override {
    return fmt::format("{}({})", op == Op::Sqrt ? "sqrt" : "trunc", x);
  }

  std::string vector_of(DType t, const std::string& lanes) override {
    return fmt::format("({})({})", type_name(t), lanes);
  }

  std::string lanes_of(const std::string& vector, i64 first, i64 count) override {
    std::string lanes = vector + ".s";
    for (i64 i = first; i < first + count; ++i) lanes += "0123456789abcdef"[i];
    return lanes;
  }

  std::string special(UOp u) override {
    const auto kind = static_cast<core::SpecialKind>(u.arg(0));
    CHECK(kind != core::SpecialKind::ThreadId, "a worker thread's number in OpenCL C");
    return fmt::format("({})get_{}_id({})", type_name(u.dtype()),
                       kind == core::SpecialKind::GroupId ? "group" : "local", u.arg(1));
  }

  std::string array(std::string_view space, UOp u, const std::string& name) {
    return fmt::format("{}{} {}[{}] __attribute__((aligned(64)));", space, memory_type(u.dtype()),
                       name, u.arg(1));
  }
  std::string private_array(UOp u, const std::string& name) override { return array("", u, name); }
  std::string local_array(UOp u, const std::string& name) override {
    return array("local ", u, name);
  }
  std::string barrier(core::UOp) override { return "barrier(CLK_LOCAL_MEM_FENCE);"; }

  std::string load_vector(UOp u) override;
  std::string store_vector(UOp u) override;
  std::string frame(const std::string& body) override;

  const Caps& caps_;
  const bool images_;
  OpenClHelpers helpers_;
};

std::string OpenClWriter::load_vector(UOp u) {
  const UOp index = u.src(0);
  CHECK(index.nsrc() < 3 || index.src(2).dtype().lanes == 1, "lanes of a load have gates");
  const DType t = u.dtype();
  const UOp memory = memory_of(index);
  if (images_ && memory.is(Op::Param) && program_.params[static_cast<usize>(memory.arg(0))].image) {
    return fmt::format("read_imagef(b{0}, t{0} + (int)({1}) / 4)", memory.arg(0),
                       text(index.src(1)));
  }
  const std::string value = fmt::format("vload{}(0, {})", t.lanes, address(index));
  return t.is_bool() ? fmt::format("({} != (uchar{})0)", value, t.lanes) : value;
}

std::string OpenClWriter::store_vector(UOp u) {
  const UOp index = u.src(0), value = u.src(1);
  CHECK(index.nsrc() < 3 || index.src(2).dtype().lanes == 1, "lanes of a store have gates");
  const DType t = value.dtype();
  std::string lanes = text(value);
  if (t.is_bool()) lanes = fmt::format("as_uchar{0}({1} & (char{0})1)", t.lanes, lanes);
  return fmt::format("vstore{}({}, 0, {});", t.lanes, lanes, address(index));
}

std::string OpenClWriter::frame(const std::string& body) {
  std::string parameters, pointers;
  for (usize i = 0; i < program_.params.size(); ++i) {
    const ProgramParam& p = program_.params[i];
    const std::string_view access = p.written ? "" : "const ";
    const std::string type = memory_type(p.dtype.element());
    const std::string name = param_name(static_cast<i64>(i));
    if (images_ && p.image) {
      parameters += fmt::format("{}read_only image1d_buffer_t b{}, ulong o{}", i ? ", " : "", i, i);
      pointers += fmt::format("  const int t{0} = (int)(o{0} >> 4);\n", i);
      continue;
    }
    parameters += fmt::format("{}global {}uchar* b{}, ulong o{}", i ? ", " : "", access, i, i);
    pointers += fmt::format("  global {0}{1}* {2} = (global {0}{1}*)(b{3} + o{3});\n", access, type,
                            name, i);
  }
  for (usize i = 0; i < program_.variables.size(); ++i)
    parameters += fmt::format("{}long n{}", parameters.empty() ? "" : ", ", i);
  const i64(&items)[3] = program_.group_items;
  const std::string kernel = fmt::format(
      "kernel __attribute__((reqd_work_group_size({}, {}, {})))\nvoid {}{}({}) {{\n{}{}}}\n",
      items[0], items[1], items[2], program_.name, images_ ? "_images" : "", parameters, pointers,
      body);
  if (images_) return "\n" + kernel;
  return fmt::format(
      "{}{}{}{}", kPrelude,
      caps_.has(core::dtypes::f16) ? "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n" : "",
      helpers_.source(), kernel);
}

std::string render(const LinearProgram& program, const Caps& caps) {
  std::string text = OpenClWriter(program, caps, false).write();
  const bool has_images = std::any_of(program.params.begin(), program.params.end(),
                                      [](const ProgramParam& p) { return p.image; });
  if (has_images) text += OpenClWriter(program, caps, true).write();
  return text;
}

}  // namespace

Caps opencl_caps(const OpenClTraits& traits) {
  Caps caps;
  set_graphics_ops(&caps);
  if (traits.fma) caps.ops.set(static_cast<usize>(Op::MulAcc));
  // Other narrow floats are integers in memory, converted by the lowered program itself.
  caps.storage_dtypes.set(static_cast<usize>(Scalar::F16));
  caps.dtypes.set(static_cast<usize>(Scalar::F16), traits.f16);
  caps.dtypes.set(static_cast<usize>(Scalar::F64), traits.f64);
  caps.storage_dtypes.set(static_cast<usize>(Scalar::F64), traits.f64);
  caps.vector_bytes = 16;
  caps.flushes_subnormals = !traits.subnormals;
  caps.max_local = traits.group_items;
  std::copy_n(traits.group_axis, 3, caps.max_local_axis);
  caps.max_shared_bytes = traits.local_bytes;
  // Elements of an image are numbered by int.
  caps.image_texels = std::min<i64>(traits.image_texels, INT32_MAX / 4);
  // A buffer, an offset, and a few variables.
  caps.max_params = static_cast<int>(std::clamp<i64>((traits.argument_bytes - 64) / 16, 4, 31));
  for (i64& groups : caps.max_global) groups = INT32_MAX;
  return caps;
}

std::unique_ptr<Renderer> make_opencl_renderer(Caps caps) {
  return make_source_renderer("CL", caps, render);
}

}  // namespace doorbell::codegen
