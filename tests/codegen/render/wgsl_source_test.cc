// The WGSL of small kernels, as people see it with DEBUG=4. That a compiler takes it is tested by
// the conformance suite on a WebGPU device, where the library checks each kernel.
#include <cmath>

#include "codegen/linear/combined_load.h"
#include "codegen/render/wgsl_renderer.h"
#include "drivers/webgpu/hw/abi/bindings.h"
#include "tests/codegen/render/group_kernel.h"
#include "tests/support/golden.h"

namespace doorbell::codegen::testing {
namespace {

using core::Op;
using core::UOp;
namespace dt = core::dtypes;
namespace hw = webgpu::hw;

std::string source_of(const ProgramBuilder& b, bool f16 = false, bool native = false) {
  WgslTraits traits;
  traits.f16 = f16;
  traits.f64 = native;
  return make_wgsl_renderer(wgsl_caps(traits), {.int64 = native})->render(b.program);
}

TEST(WgslSource, GroupsShareMemory) {
  ProgramBuilder b("reverse");
  fill_reversal(b, dt::i8);
  EXPECT_GOLDEN("tests/golden/codegen/wgsl_group.txt", source_of(b));
}

// out[0] = sum over j < n of in[j] / j in 64 bits.
void fill_wide_sum(ProgramBuilder& b) {
  const i64 name = core::intern_name("n");
  b.program.variables = {name};
  UOp out = b.param(dt::i64, 1, true), in = b.param(dt::u32, 16);
  UOp n = b.op(Op::Variable, dt::i64, {}, {name, 1, 16});
  UOp reg = b.op(Op::DefineReg, dt::i64, {}, {0});
  UOp start = b.store(reg, b.number(-1));
  UOp j = b.range(0, n);
  UOp x = b.op(Op::Cast, dt::i64, {b.load(b.index(in, j))});
  UOp before = b.op(Op::Load, dt::i64, {b.op(Op::After, dt::i64, {reg, start})});
  UOp quotient = b.op(Op::CDiv, dt::i64, {x, j});
  UOp inner = b.end(b.store(reg, b.op(Op::Add, dt::i64, {before, quotient})), j);
  UOp sum = b.op(Op::Load, dt::i64, {b.op(Op::After, dt::i64, {reg, inner})});
  b.store(b.index(out, b.number(0)), sum);
}

TEST(WgslSource, WideIntegersArePairs) {
  ProgramBuilder b("sum");
  fill_wide_sum(b);
  EXPECT_GOLDEN("tests/golden/codegen/wgsl_wide.txt", source_of(b));
}

// wgpu-native's own types.
TEST(WgslSource, WideTypesOfTheLanguage) {
  ProgramBuilder b("sum");
  fill_wide_sum(b);
  EXPECT_GOLDEN("tests/golden/codegen/wgsl_wide_native.txt", source_of(b, false, true));
  ProgramBuilder f("doubles");
  UOp out = f.param(dt::f64, 4, true), in = f.param(dt::f64, 2);
  UOp x = f.load(f.index(in, f.number(0))), y = f.load(f.index(in, f.number(1)));
  f.store(f.index(out, f.number(0)), f.op(Op::Max, dt::f64, {x, y}));
  f.store(f.index(out, f.number(1)), f.op(Op::Add, dt::f64, {x, f.real(0.1, dt::f64)}));
  f.store(f.index(out, f.number(2)), f.real(INFINITY, dt::f64));
  f.store(f.index(out, f.number(3)), f.op(Op::FDiv, dt::f64, {x, f.real(0, dt::f64)}));
  UOp words = f.param(dt::i64, 1, true);
  f.store(f.index(words, f.number(0)), f.op(Op::Cast, dt::i64, {y}));
  EXPECT_GOLDEN("tests/golden/codegen/wgsl_doubles.txt", source_of(f, false, true));
}

// Constants that are no numbers, comparisons with NaN, f16.
TEST(WgslSource, SpecialFloats) {
  ProgramBuilder b("floats");
  UOp floats = b.param(dt::f32, 8, true), halves = b.param(dt::f16, 2, true);
  UOp flags = b.param(dt::bool_, 2, true);
  UOp x = b.load(b.index(floats, b.number(0))), y = b.load(b.index(floats, b.number(1)));
  b.store(b.index(floats, b.number(2)), b.real(-INFINITY));
  b.store(b.index(floats, b.number(3)), b.real(std::nan("")));
  b.store(b.index(floats, b.number(4)), b.op(Op::Max, dt::f32, {x, y}));
  b.store(b.index(flags, b.number(0)), b.op(Op::CmpNe, dt::bool_, {x, x}));
  b.store(b.index(flags, b.number(1)), b.op(Op::CmpNe, dt::bool_, {x, y}));
  UOp half = b.load(b.index(halves, b.number(0)));
  UOp scaled = b.op(Op::Mul, dt::f16, {half, b.real(1.5, dt::f16)});
  b.store(b.index(halves, b.number(1)), b.op(Op::Add, dt::f16, {scaled, b.real(0x1p-24, dt::f16)}));
  UOp number = b.op(Op::Cast, dt::i32, {x});
  b.store(b.index(floats, b.number(5)), b.op(Op::Cast, dt::f32, {number}));
  EXPECT_GOLDEN("tests/golden/codegen/wgsl_floats.txt", source_of(b, true));
}

// By what a subgroup has: no size and no order of its items is assumed.
TEST(WgslSource, SubgroupsCombineWhatAGroupHas) {
  ProgramBuilder b("largest");
  UOp out = b.param(dt::f32, 1, true), in = b.param(dt::f32, 64);
  UOp item = b.op(Op::Special, dt::i32, {}, {static_cast<i64>(core::SpecialKind::LocalId), 0, 64});
  b.program.group_items[0] = 64;
  UOp shared = b.op(Op::DefineLocal, dt::f32, {}, {0, 64});
  UOp stored = b.store(b.index(shared, item), b.load(b.index(in, item)));
  UOp met = b.op(Op::Barrier, dt::void_, {stored});
  UOp held = b.op(Op::After, dt::f32, {shared, met});
  UOp all = b.op(Op::Load, dt::f32, {b.index(held, b.number(0))},
                 {kCombined, static_cast<i64>(Op::Max), 64});
  b.store(b.index(out, b.number(0)), all);
  WgslTraits traits;
  traits.subgroups = true;
  const Caps caps = wgsl_caps(traits);
  EXPECT_GOLDEN("tests/golden/codegen/wgsl_subgroups.txt",
                make_wgsl_renderer(caps, {.enables_subgroups = true})->render(b.program));
  EXPECT_EQ(make_wgsl_renderer(caps)->render(b.program).find("enable subgroups"),
            std::string::npos);
}

// What a compiler that assumes finite numbers, or reorders sums, would lose: x - ((x + c) - c), and
// factors and divisors that are 0.
TEST(WgslSource, CompilersDoNotKnowWhatMatters) {
  ProgramBuilder b("careful");
  UOp floats = b.param(dt::f32, 4, true);
  UOp x = b.load(b.index(floats, b.number(0))), c = b.real(12582912);
  UOp moved = b.op(Op::Sub, dt::f32, {b.op(Op::Add, dt::f32, {x, c}), c});
  b.store(b.index(floats, b.number(1)), b.op(Op::Sub, dt::f32, {x, moved}));
  b.store(b.index(floats, b.number(2)), b.op(Op::Mul, dt::f32, {x, b.real(0)}));
  b.store(b.index(floats, b.number(3)), b.op(Op::FDiv, dt::f32, {x, b.real(-0.0)}));
  const std::string source = source_of(b);
  for (const char* part : {
           "(v0 - rounded_f32((rounded_f32((v0 + 12582912.0f)) - 12582912.0f)))",
           "(v0 * bitcast<f32>((0x0u ^ args[0].x)))",
           "(v0 / bitcast<f32>((0x80000000u ^ args[0].x)))",
       })
    EXPECT_NE(source.find(part), std::string::npos) << part << " in\n" << source;
}

// A launch with both params in one buffer gets one binding, all of whose accesses are atomic, since
// bytes of it are stored.
TEST(WgslBindings, ParamsOfOneBufferShareABinding) {
  const hw::KernelAbi abi{{{1, true, 16}, {4, false, 4}}, 1};
  const std::string text = hw::bindings(abi, {{0, 0}});
  EXPECT_EQ(text.find("@binding(2)"), std::string::npos) << text;
  EXPECT_NE(text.find("@binding(1) var<storage, read_write> b0: array<atomic<u32>>;"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("fn load1(i: u32) -> u32 { return atomicLoad(&b0[i + args[1].y]); }"),
            std::string::npos)
      << text;
  // Apart, the second is read only.
  EXPECT_NE(hw::bindings(abi, {{0, 1}}).find("@binding(2) var<storage, read> b1: array<u32>;"),
            std::string::npos);
}

TEST(WgslBindings, HeadersAreRead) {
  hw::KernelAbi abi;
  ASSERT_TRUE(hw::parse_header("// params 4x1024 1wx16, variables 2\nrest", &abi));
  EXPECT_EQ(abi, (hw::KernelAbi{{{4, false, 1024}, {1, true, 16}}, 2}));
  EXPECT_EQ(hw::header(abi), "// params 4x1024 1wx16, variables 2\n");
  for (const char* broken :
       {"", "// params", "// params 3x1, variables 0\n", "// params 4, variables 0\n",
        "// params 4x1, variables \n", "// params 4x1, variables 0"})
    EXPECT_FALSE(hw::parse_header(broken, &abi)) << broken;
}

}  // namespace
}  // namespace doorbell::codegen::testing
