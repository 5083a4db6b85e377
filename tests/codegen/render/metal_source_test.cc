// The MSL of small kernels, as people see it with DEBUG=4. clang reads it too, as C++ for OpenCL,
// which has the address spaces of MSL under other names.
#include <cmath>

#include "codegen/lower/lower.h"
#include "codegen/render/metal_renderer.h"
#include "tests/codegen/render/group_kernel.h"
#include "tests/codegen/support/kernels.h"
#include "tests/support/golden.h"

namespace doorbell::codegen::testing {
namespace {

using core::Op;
using core::UOp;
namespace dt = core::dtypes;

std::string source_of(const ProgramBuilder& b) {
  return make_metal_renderer(metal_caps({.bfloat = true}))->render(b.program);
}

// The words of MSL that C++ for OpenCL has not; it has trunc(), fma() and clz().
constexpr std::string_view kLanguage = R"(#define device __global
#define constant __constant
#define threadgroup __local
#define thread __private
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef uint uint3 __attribute__((ext_vector_type(3)));
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
template <class To, class From> static inline To as_type(From from) {
  static_assert(sizeof(To) == sizeof(From), "as_type of another size");
  return __builtin_astype(from, To);
}
struct bfloat { ushort bits; bfloat() = default; explicit bfloat(float value); };
template <> inline ushort as_type<ushort, bfloat>(bfloat b) { return b.bits; }
template <> inline bfloat as_type<bfloat, ushort>(ushort b) {
  bfloat made;
  made.bits = b;
  return made;
}
namespace metal {
namespace precise { float sqrt(float); half sqrt(half); }
enum class mem_flags { mem_none = 0, mem_device = 1, mem_threadgroup = 2 };
void threadgroup_barrier(mem_flags);
template <class T> struct simdgroup_matrix { T e[2]; T (&thread_elements())[2]; };
typedef simdgroup_matrix<float> simdgroup_float8x8;
typedef simdgroup_matrix<half> simdgroup_half8x8;
typedef simdgroup_matrix<bfloat> simdgroup_bfloat8x8;
template <class T>
void simdgroup_multiply_accumulate(thread simdgroup_float8x8&, thread simdgroup_matrix<T>&,
                                   thread simdgroup_matrix<T>&, thread simdgroup_float8x8&);
}
)";

// What clang says; empty where it takes the text.
std::string refusal_of(std::string source) {
  constexpr std::string_view kInclude = "#include <metal_stdlib>\n";
  source.replace(source.find(kInclude), kInclude.size(), kLanguage);
  return clang_refusal(
      {"-x", "cl", "-cl-std=clc++", "-Wno-unknown-attributes", "-Xclang", "-cl-ext=+cl_khr_fp16"},
      source);
}

TEST(MetalSource, GroupsShareMemory) {
  ProgramBuilder b("reverse");
  fill_reversal(b, dt::i32);
  EXPECT_GOLDEN("tests/golden/codegen/metal_group.txt", source_of(b));
  EXPECT_EQ(refusal_of(source_of(b)), "");
}

// The check of address spaces is one.
TEST(MetalSource, PointersOfAnotherSpaceAreRefused) {
  ProgramBuilder b("reverse");
  fill_reversal(b, dt::i32);
  std::string source = source_of(b);
  source.replace(source.find("device int* p0"), 6, "threadgroup");
  source += "static inline device int* other(threadgroup int* p) { return p; }\n";
  EXPECT_NE(refusal_of(source), "");
}

// Vectors in memory, f16, bf16 from integers and floats, constants that are no numbers, variables.
TEST(MetalSource, VectorsAndNarrowFloats) {
  ProgramBuilder b("narrow");
  const i64 name = core::intern_name("n");
  b.program.variables = {name};
  UOp floats = b.param(dt::f32, 64, true), halves = b.param(dt::f16, 8, true);
  UOp brains = b.param(dt::bf16, 8, true);
  UOp n = b.op(Op::Variable, dt::i64, {}, {name, 1, 10});
  UOp four = b.op(Op::Mul, dt::i64, {n, b.number(4)});
  UOp x = b.load(b.index(floats, four), 4);
  b.store(b.index(floats, b.number(0)), x);
  UOp lane = b.op(Op::Lane, dt::f32, {x}, {2});
  UOp root = b.op(Op::Sqrt, dt::f32, {lane});
  b.store(b.index(floats, b.number(1)), b.op(Op::MulAcc, dt::f32, {lane, root, lane}));
  b.store(b.index(floats, b.number(2)), b.real(-INFINITY));
  UOp half = b.load(b.index(halves, b.number(0)));
  b.store(b.index(halves, b.number(1)), b.op(Op::Max, dt::f16, {half, b.real(1.5, dt::f16)}));
  b.store(b.index(brains, b.number(0)), b.op(Op::Cast, dt::bf16, {root}));
  b.store(b.index(brains, b.number(1)), b.op(Op::Cast, dt::bf16, {n}));
  UOp wide = b.op(Op::Cast, dt::f32, {b.load(b.index(brains, b.number(2)))});
  b.store(b.index(floats, b.number(3)), wide);
  UOp number = b.op(Op::Cast, dt::i32, {lane});
  b.store(b.index(floats, b.number(4)), b.op(Op::Cast, dt::f32, {number}));
  EXPECT_GOLDEN("tests/golden/codegen/metal_narrow.txt", source_of(b));
  EXPECT_EQ(refusal_of(source_of(b)), "");
}

// The text of a lowered product; the interpreter of linear programs computes it elsewhere.
TEST(MetalSource, MatricesOfSimdgroups) {
  const Caps caps = metal_caps({.bfloat = true, .matrices = true});
  for (const core::DType t : {dt::f32, dt::f16, dt::bf16}) {
    core::Arena arena;
    const LinearProgram program =
        lower(narrow_product_kernel(t, {1, 32, 32, 32}, false), caps, arena);
    const std::string source = make_metal_renderer(caps)->render(program);
    EXPECT_NE(source.find("simdgroup_multiply_accumulate"), std::string::npos) << source;
    EXPECT_EQ(refusal_of(source), "");
    EXPECT_NE(source.find("simdgroup_" + std::string(t == dt::f32   ? "float8x8"
                                                     : t == dt::f16 ? "half8x8"
                                                                    : "bfloat8x8")),
              std::string::npos);
  }
}

// "c ? 0 : x" of narrow numbers is an int, which braces must not narrow.
TEST(MetalSource, LanesOfNarrowNumbersAreCast) {
  ProgramBuilder b("chosen");
  UOp out = b.param(dt::u16, 8, true), in = b.param(dt::u16, 8);
  UOp x = b.load(b.index(in, b.number(0)));
  UOp is_large = b.op(Op::CmpLt, dt::bool_, {b.number(3, dt::u16), x});
  UOp chosen = b.op(Op::Where, dt::u16, {is_large, b.number(0, dt::u16), x});
  UOp two = b.op(Op::Vec, dt::u16.with_lanes(2), {chosen, x});
  b.store(b.index(out, b.number(0)), two);
  EXPECT_EQ(refusal_of(source_of(b)), "");
}

}  // namespace
}  // namespace doorbell::codegen::testing
