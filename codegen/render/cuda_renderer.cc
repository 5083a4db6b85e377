// CUDA C++: the frame, work groups and functions. Roots and quotients are rounded once, as NVRTC's
// defaults have it; a product and a sum are fused by fma() alone (--fmad=false).
// [CUDA Programming Guide 13, 5.4 "C++ Language Extensions"; CUDA Math API, "Type Casting
// Intrinsics", "Single" and "Double Precision Intrinsics"]
#include "codegen/render/cuda_renderer.h"

#include <fmt/format.h>

#include <cmath>

#include "base/util/check.h"
#include "codegen/render/cuda_helpers.h"
#include "codegen/render/wrapping_writer.h"

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
    "#define FN static __device__ __forceinline__\n";

class CudaWriter final : public WrappingWriter {
 public:
  using WrappingWriter::WrappingWriter;

 private:
  CStyleHelpers& helpers() override { return helpers_; }

  std::string special_float(DType t, f64 value) override {
    const bool is_nan = std::isnan(value);
    if (t.scalar == Scalar::F32) {
      return fmt::format("__int_as_float({})", is_nan      ? "0x7fc00000"
                                               : value < 0 ? "0xff800000"
                                                           : "0x7f800000");
    }
    return fmt::format("__longlong_as_double({})", is_nan      ? "0x7ff8000000000000ll"
                                                   : value < 0 ? "0xfff0000000000000ll"
                                                               : "0x7ff0000000000000ll");
  }

  std::string math(Op op, DType t, const std::string& x) override {
    const bool is_f32 = t.scalar == Scalar::F32;
    if (op == Op::Sqrt) return fmt::format("{}({})", is_f32 ? "__fsqrt_rn" : "__dsqrt_rn", x);
    return fmt::format("{}({})", is_f32 ? "truncf" : "trunc", x);
  }

  // Caps offer no vectors.
  std::string vector_of(DType t, const std::string&) override { no_vectors(t); }
  std::string lanes_of(const std::string&, i64, i64) override { no_vectors(core::dtypes::f32); }
  std::string load_vector(UOp load) override { no_vectors(load.dtype()); }
  std::string store_vector(UOp store) override { no_vectors(store.src(1).dtype()); }
  [[noreturn]] static void no_vectors(DType t) {
    UNREACHABLE("vectors of {} in CUDA C++", t.str());
  }

  std::string special(UOp u) override {
    const auto kind = static_cast<core::SpecialKind>(u.arg(0));
    CHECK(kind != core::SpecialKind::ThreadId, "a worker thread's number in CUDA C++");
    return fmt::format("({}){}.{}", type_name(u.dtype()),
                       kind == core::SpecialKind::GroupId ? "blockIdx" : "threadIdx",
                       static_cast<char>('x' + u.arg(1)));
  }

  std::string array(std::string_view space, UOp u, const std::string& name) {
    return fmt::format("{}__align__(64) {} {}[{}];", space, memory_type(u.dtype()), name, u.arg(1));
  }
  std::string private_array(UOp u, const std::string& name) override { return array("", u, name); }
  std::string local_array(UOp u, const std::string& name) override {
    return array("__shared__ ", u, name);
  }
  std::string barrier() override { return "__syncthreads();"; }

  std::string frame(const std::string& body) override;

  CudaHelpers helpers_;
};

std::string CudaWriter::frame(const std::string& body) {
  const std::string signature = parameters();  // before the helpers that its types need
  const i64(&items)[3] = program_.group_items;
  return fmt::format("{}{}extern \"C\" __global__ void __launch_bounds__({})\n{}({}) {{\n{}}}\n",
                     kPrelude, helpers_.source(), items[0] * items[1] * items[2], program_.name,
                     signature, body);
}

class CudaRenderer final : public Renderer {
 public:
  explicit CudaRenderer(Caps caps) : caps_(caps) {}
  std::string_view name() const override { return "CUDA"; }
  const Caps& caps() const override { return caps_; }
  std::string render(const LinearProgram& program) const override {
    return CudaWriter(program).write();
  }

 private:
  const Caps caps_;
};

}  // namespace

Caps cuda_caps(const nv::hw::Chip& chip, i64 multiprocessors) {
  Caps caps = nv_caps(chip, multiprocessors);
  caps.dtypes.reset(static_cast<usize>(Scalar::F16));
  return caps;
}

std::unique_ptr<Renderer> make_cuda_renderer(Caps caps) {
  return std::make_unique<CudaRenderer>(caps);
}

}  // namespace doorbell::codegen
