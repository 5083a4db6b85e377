// The MSL of small kernels, as people see it with DEBUG=4. clang reads it too, as C++ for OpenCL,
// which has the address spaces of MSL under other names.
#include <cmath>

#include "codegen/render/metal_renderer.h"
#include "tests/codegen/render/group_kernel.h"
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
struct bfloat { ushort bits; explicit bfloat(float value); };
template <> inline ushort as_type<ushort, bfloat>(bfloat b) { return b.bits; }
namespace metal {
namespace precise { float sqrt(float); half sqrt(half); }
enum class mem_flags { mem_none = 0, mem_device = 1, mem_threadgroup = 2 };
void threadgroup_barrier(mem_flags);
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

}  // namespace
}  // namespace doorbell::codegen::testing
