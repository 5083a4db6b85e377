// CUDA C++: the frame, work groups and functions. Roots and quotients are rounded once, as NVRTC's
// defaults have it; a product and a sum may be fused, as by all renderers.
// [CUDA Programming Guide 13, 5.4 "C++ Language Extensions"; CUDA Math API, "Type Casting
// Intrinsics", "Single" and "Double Precision Intrinsics"]
#include "codegen/render/cuda_renderer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/util/check.h"
#include "codegen/render/byte_gather.h"
#include "codegen/render/cuda_helpers.h"
#include "codegen/render/memory.h"
#include "codegen/render/nv_tensor_copy.h"
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

  std::string vector(UOp u) override;
  // vector() writes all there is of vectors.
  std::string vector_of(DType t, const std::string&) override {
    UNREACHABLE("lanes of {} by the language", t.str());
  }
  std::string lanes_of(const std::string& vector, i64, i64) override {
    UNREACHABLE("lanes of {} by the language", vector);
  }
  std::string load_vector(UOp load) override {
    UOp index = load.src(0);
    if (is_matrix_load(load)) {
      const bool transposed = load.arg(0) & kMatrixTransposed;
      return fmt::format("{}({})", helpers_.load_matrix(load.dtype(), transposed), address(index));
    }
    const i64 alignment = known_alignment(program_, index, load.dtype());
    return fmt::format("{}({})", helpers_.load_vector(load.dtype(), alignment), address(index));
  }
  std::string store_vector(UOp store) override {
    UOp index = store.src(0), value = store.src(1);
    const i64 alignment = known_alignment(program_, index, value.dtype());
    if (is_async_store(store) && alignment >= kAsyncBytes &&
        known_alignment(program_, value.src(0), value.dtype()) >= kAsyncBytes)
      return copy_async(store);
    return fmt::format("{}({}, {});", helpers_.store_vector(value.dtype(), alignment),
                       address(index), text(value));
  }
  std::string matrix(UOp u) override {
    if (reads_local(u)) {
      return fmt::format("{}({}, {}, {})", helpers_.warpgroup_matrix(u), address(u.src(0)),
                         address(u.src(1)), text(u.src(2)));
    }
    return fmt::format("{}({}, {}, {})", helpers_.matrix(tensor_core(u.arg(0))), text(u.src(0)),
                       text(u.src(1)), text(u.src(2)));
  }
  std::string finished(UOp u) override {
    return fmt::format("{}({})", helpers_.warpgroup_wait(u.dtype()), text(u.src(0)));
  }
  // The load that it copies from is left without use, and removed.
  std::string copy_async(UOp store) {
    UOp from = store.src(1).src(0);
    UOp gate = async_source_gate(store);
    return fmt::format("{}({}, {}{});", helpers_.copy_async(static_cast<bool>(gate)),
                       address(store.src(0)), address(from), gate ? ", " + text(gate) : "");
  }
  std::string tensor_copy(UOp u) override {
    std::string coordinates;
    for (UOp c : coordinates_of(u)) coordinates += fmt::format(", (i32){}", text(c));
    return fmt::format("{}({}, &m{}, {}{});", helpers_.tensor_copy(u), address(u.src(0)),
                       tensor_map_number(program_, u), address(u.src(1)), coordinates);
  }
  std::string phase_wait(UOp u) override {
    return fmt::format("{}({}, (u32){});", helpers_.phase_wait(), address(u.src(0)),
                       text(u.src(1)));
  }
  std::string lane(UOp u, i64 number);
  std::string word(UOp u, i64 number);

  std::string special(UOp u) override {
    const auto kind = static_cast<core::SpecialKind>(u.arg(0));
    CHECK(kind != core::SpecialKind::ThreadId, "a worker thread's number in CUDA C++");
    // What is the same in all lanes of a warp goes through lane 0, so that the compiler knows.
    // Descriptors of matrices are in registers of the whole warp.
    const bool local = kind == core::SpecialKind::LocalId;
    if (local && u.arg(1) == kWaveAxis) {
      const i64(&items)[3] = program_.group_items;
      return fmt::format(
          "({})__shfl_sync(0xffffffffu, (threadIdx.x + {} * (threadIdx.y + {} * threadIdx.z)) / "
          "{}, 0)",
          type_name(u.dtype()), items[0], items[1], kNvWarp);
    }
    if (local && u.arg(1) > 0 && std::ranges::any_of(program_.ops, reads_local))
      return fmt::format("({})__shfl_sync(0xffffffffu, threadIdx.{}, 0)", type_name(u.dtype()),
                         static_cast<char>('x' + u.arg(1)));
    return fmt::format("({}){}.{}", type_name(u.dtype()),
                       kind == core::SpecialKind::GroupId ? "blockIdx" : "threadIdx",
                       static_cast<char>('x' + u.arg(1)));
  }

  std::string array(std::string_view space, UOp u, const std::string& name) {
    return fmt::format("{}__align__({}) {} {}[{}];", space, local_array_alignment(u),
                       memory_type(u.dtype()), name, u.arg(1));
  }
  std::string private_array(UOp u, const std::string& name) override { return array("", u, name); }
  std::string local_array(UOp u, const std::string& name) override {
    if (!is_mbarriers(u)) return shared_array(u, name);
    return fmt::format("{} {}({});", shared_array(u, name), helpers_.init_mbarriers(u.arg(1)),
                       name);
  }
  std::string shared_array(UOp u, const std::string& name) {
    if (program_.dynamic_shared_bytes == 0) return array("__shared__ ", u, name);
    const std::string type(memory_type(u.dtype()));
    const i64 start = local_array_start(u, next_shared_);
    next_shared_ = start + local_array_bytes(u);
    shared_alignment_ = std::max(shared_alignment_, local_array_alignment(u));
    return fmt::format("{}* const {} = ({}*)(dynamic_shared + {});", type, name, type, start);
  }
  std::string barrier(UOp u) override {
    if (u.narg() == 0) return "__syncthreads();";
    // What is stored in shared memory is read by another way, the asynchronous proxy. [PTX ISA 9.0,
    // "Async proxy"; "membar/fence"]
    return fmt::format(
        "asm volatile(\"cp.async.wait_group {};{}\" ::: \"memory\"); __syncthreads();", u.arg(0),
        u.narg() > 1 ? " fence.proxy.async.shared::cta;" : "");
  }
  std::string commit() override {
    return "asm volatile(\"cp.async.commit_group;\" ::: \"memory\");";
  }
  // What a group does together stays a loop: it is long, and would leave the cache of instructions.
  std::string before_loop(UOp range) override {
    bool inside = false;
    for (UOp u : program_.ops) {
      if (u == range) inside = true;
      if (u.is(Op::End) && u.src(u.nsrc() - 1) == range) return "";
      if (inside && u.is(Op::Barrier)) return "#pragma unroll 1";
    }
    return "";
  }

  std::string frame(const std::string& body) override;

  CudaHelpers helpers_;
  i64 next_shared_ = 0;  // where the next array may begin in dynamic shared memory
  i64 shared_alignment_ = 64;
};

// A lane of a vector, or the value that all lanes have.
std::string CudaWriter::lane(UOp u, i64 number) {
  const DType t = u.dtype();
  if (t.lanes == 1) return text(u);
  if (!CudaHelpers::in_words(t)) return fmt::format("{}.v[{}]", text(u), number);
  const i64 bits = t.element().bytes() * 8, at = number * bits;
  const std::string name = fmt::format("{}.w[{}]", text(u), at / 32);
  return fmt::format("({})({} >> {})", type_name(t.element()), name, at % 32);
}

// A word of a vector of narrow lanes that a Vec, Splat or Lane makes.
std::string CudaWriter::word(UOp u, i64 number) {
  const DType t = u.dtype();
  const i64 bytes = t.element().bytes(), lanes = 4 / bytes;
  const std::string_view unsigned_type = bytes == 1 ? "u8" : "u16";
  if (u.is(Op::Splat)) {
    return fmt::format("(u32)({})({}) * {}", unsigned_type, text(u.src(0)),
                       bytes == 1 ? "0x1010101u" : "0x10001u");
  }
  if (const auto gathered = u.is(Op::Vec) ? bytes_of_word(u, number) : std::nullopt) {
    return gather_bytes(
        *gathered,
        [&](const ByteOfWord& b) { return fmt::format("{}.w[{}]", text(b.vector), b.word); },
        [](const std::string& low, const std::string& high, std::array<u8, 4> chosen) {
          return fmt::format("__byte_perm({}, {}, 0x{:x}{:x}{:x}{:x})", low, high, chosen[3],
                             chosen[2], chosen[1], chosen[0]);
        });
  }
  std::string made;
  for (i64 i = 0; i < lanes && number * lanes + i < t.lanes; ++i) {
    const i64 at = number * lanes + i;
    const std::string one =
        u.is(Op::Vec) ? text(u.src(static_cast<usize>(at))) : lane(u.src(0), u.arg(0) + at);
    made += fmt::format("{}(u32)({})({}) << {}", i ? " | " : "", unsigned_type, one, i * bytes * 8);
  }
  return made;
}

std::string CudaWriter::vector(UOp u) {
  const DType t = u.dtype();
  if (t.lanes == 1) return lane(u.src(0), u.arg(0));
  std::string parts;
  auto add = [&](const std::string& part) { parts += (parts.empty() ? "" : ", ") + part; };
  if (CudaHelpers::in_words(t)) {
    for (i64 i = 0; i < (t.bytes() + 3) / 4; ++i) add(word(u, i));
  } else {
    for (i64 i = 0; i < t.lanes; ++i) {
      switch (u.op()) {
        case Op::Splat: add(text(u.src(0))); break;
        case Op::Vec: add(text(u.src(static_cast<usize>(i)))); break;
        case Op::Lane: add(lane(u.src(0), u.arg(0) + i)); break;
        default: UNREACHABLE("{} of {} in CUDA C++", core::name_of(u.op()), t.str());
      }
    }
  }
  return fmt::format("{}{{{{{}}}}}", type_name(t), parts);
}

std::string CudaWriter::frame(const std::string& body) {
  std::string signature = parameters();  // before the helpers that its types need
  for (usize i = 0; i < program_.tensor_maps.size(); ++i)
    signature += fmt::format(", const __grid_constant__ TensorMap m{}", i);
  const std::string map_type =
      program_.tensor_maps.empty()
          ? ""
          : fmt::format("struct __align__({}) TensorMap {{ u64 words[{}]; }};\n",
                        kNvTensorMapAlignment, kNvTensorMapBytes / 8);
  const i64(&items)[3] = program_.group_items;
  const std::string shared =
      program_.dynamic_shared_bytes > 0
          ? fmt::format("extern __shared__ __align__({}) u8 dynamic_shared[];\n", shared_alignment_)
          : "";
  return fmt::format(
      "{}{}{}{}extern \"C\" __global__ void __launch_bounds__({})\n{}({}) {{\n{}}}\n", kPrelude,
      map_type, helpers_.source(), shared, items[0] * items[1] * items[2], program_.name, signature,
      body);
}

}  // namespace

Caps cuda_caps(const nv::hw::Chip& chip, NvTarget target) {
  Caps caps = nv_caps(chip, target);
  caps.dtypes.reset(static_cast<usize>(Scalar::F16));
  caps.vector_arithmetic = false;
  return caps;
}

std::unique_ptr<Renderer> make_cuda_renderer(Caps caps) {
  return make_source_renderer("CUDA", caps, [](const LinearProgram& program, const Caps&) {
    return CudaWriter(program).write();
  });
}

}  // namespace doorbell::codegen
