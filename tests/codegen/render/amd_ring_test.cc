// Loops over tiles in AMD's code: what of the next tile's address is left out or made a constant,
// seen in the disassembly (drop_wraps.h, shift_buffers.h). That the values are right is the
// conformance suite's to show, on the emulator.
#include "codegen/compile/llvm_build.h"
#include "codegen/compile/llvm_compiler.h"
#include "tests/codegen/render/cpu_kernel.h"

namespace doorbell::codegen::testing {
namespace {

using core::Op;
using core::UOp;
namespace dt = core::dtypes;

constexpr i64 kItems = 64, kTiles = 16;

// acc += held; held = in[next tile * 64 + item], where the first tile follows the last one.
struct Loop {
  i64 wraps_at = kTiles;      // the number that becomes 0
  bool uses_at_once = false;  // the loaded value in the same iteration, too
  bool uses_later = false;    // behind the loop
  bool is_bounded = true;     // the size of `in` is known
  i64 ahead = 1;              // tiles
};

LinearProgram program_of(ProgramBuilder& b, const Loop& loop) {
  b.program.group_items[0] = kItems;
  UOp out = b.param(dt::f32, kItems, true);
  UOp in = b.param(dt::f32, loop.is_bounded ? kItems * kTiles : 0);
  UOp item =
      b.op(Op::Special, dt::i32, {}, {static_cast<i64>(core::SpecialKind::LocalId), 0, kItems});
  UOp acc = b.op(Op::DefineReg, dt::f32, {}, {0}), held = b.op(Op::DefineReg, dt::f32, {}, {1});
  UOp no_sum = b.op(Op::After, dt::f32, {acc, b.store(acc, b.real(0))});
  UOp first = b.load(b.index(in, item));
  UOp holds = b.op(Op::After, dt::f32, {held, b.store(held, first)});
  UOp i = b.range(0, b.number(kTiles, dt::i32));
  UOp sum =
      b.op(Op::Add, dt::f32, {b.op(Op::Load, dt::f32, {no_sum}), b.op(Op::Load, dt::f32, {holds})});
  UOp later = b.op(Op::Add, dt::i32, {i, b.number(loop.ahead, dt::i32)});
  UOp wraps = b.op(Op::CmpEq, dt::bool_, {later, b.number(loop.wraps_at, dt::i32)});
  UOp next = b.op(Op::Where, dt::i32, {wraps, b.number(0, dt::i32), later});
  UOp start = b.op(Op::Mul, dt::i32, {next, b.number(kItems, dt::i32)});
  UOp loaded = b.load(b.index(in, b.op(Op::Add, dt::i32, {start, item})));
  if (loop.uses_at_once) sum = b.op(Op::Add, dt::f32, {sum, loaded});
  UOp done = b.op(Op::Group, dt::void_, {b.store(acc, sum), b.store(held, loaded)});
  UOp end = b.end(done, i);
  UOp result = b.op(Op::Load, dt::f32, {b.op(Op::After, dt::f32, {acc, end})});
  if (loop.uses_later) {
    UOp last = b.op(Op::Load, dt::f32, {b.op(Op::After, dt::f32, {held, end})});
    result = b.op(Op::Add, dt::f32, {result, last});
  }
  b.store(b.index(out, item), result);
  return b.program;
}

std::string code_of(const LinearProgram& program, std::string_view chip) {
  const auto compiler = make_llvm_compiler({LlvmTarget::Family::Amd, std::string(chip)});
  Result<std::vector<u8>> object = compiler->compile(program, "");
  EXPECT_TRUE(object) << to_string(object.error());
  return object ? *compiler->disassemble(*object) : std::string();
}

i64 count(std::string_view text, std::string_view word) {
  i64 found = 0;
  for (usize at = 0; (at = text.find(word, at)) != std::string_view::npos; at += word.size())
    ++found;
  return found;
}

bool wraps(const Loop& loop, std::string_view chip) {
  ProgramBuilder b("ring");
  const std::string code = code_of(program_of(b, loop), chip);
  EXPECT_EQ(count(code, "buffer_load_"), 1) << code;
  return count(code, "s_cselect_b32") > 0;
}

class AmdRing : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::atoi(kLlvmVersion) < 22) GTEST_SKIP() << "loads of buffers take LLVM 22";
  }
};

TEST_F(AmdRing, BehindTheLastTileNoneIsChosen) {
  for (const char* chip : {"gfx1030", "gfx1100", "gfx1201"}) EXPECT_FALSE(wraps({}, chip)) << chip;
}

TEST_F(AmdRing, AValueThatIsUsedIsOfTheFirstTile) {
  EXPECT_TRUE(wraps({.uses_at_once = true}, "gfx1100"));
  EXPECT_TRUE(wraps({.uses_later = true}, "gfx1100"));
}

TEST_F(AmdRing, AChoiceBeforeTheLastIterationStays) {
  EXPECT_TRUE(wraps({.wraps_at = kTiles - 1}, "gfx1100"));
  EXPECT_TRUE(wraps({.ahead = 2}, "gfx1100"));
}

// Elsewhere something else may lie behind the end.
TEST_F(AmdRing, BuffersWithoutAKnownEndWrap) {
  EXPECT_TRUE(wraps({.is_bounded = false}, "gfx1100"));
}

// Whose scalar part of an address may lead past the end.
TEST_F(AmdRing, LoadsOfCdnaWrap) { EXPECT_TRUE(wraps({}, "gfx942")); }

// out[item] = sum over tiles, two in each iteration, of in[tile * 64 + item].
LinearProgram pairs_of_tiles(ProgramBuilder& b) {
  b.program.group_items[0] = kItems;
  UOp out = b.param(dt::f32, kItems, true), in = b.param(dt::f32, 2 * kItems * kTiles);
  UOp item =
      b.op(Op::Special, dt::i32, {}, {static_cast<i64>(core::SpecialKind::LocalId), 0, kItems});
  UOp acc = b.op(Op::DefineReg, dt::f32, {}, {0});
  UOp no_sum = b.op(Op::After, dt::f32, {acc, b.store(acc, b.real(0))});
  UOp i = b.range(0, b.number(kTiles, dt::i32));
  UOp sum = b.op(Op::Load, dt::f32, {no_sum});
  UOp first = b.op(Op::Mul, dt::i32, {i, b.number(2, dt::i32)});
  for (i64 t = 0; t < 2; ++t) {
    UOp tile = b.op(Op::Add, dt::i32, {first, b.number(t, dt::i32)});
    UOp start = b.op(Op::Mul, dt::i32, {tile, b.number(kItems, dt::i32)});
    sum = b.op(Op::Add, dt::f32, {sum, b.load(b.index(in, b.op(Op::Add, dt::i32, {start, item})))});
  }
  UOp end = b.end(b.store(acc, sum), i);
  b.store(b.index(out, item), b.op(Op::Load, dt::f32, {b.op(Op::After, dt::f32, {acc, end})}));
  return b.program;
}

// Both loads count with one register, and the second has a buffer that begins a tile later and ends
// where the first does: in bytes, as literals of the code.
TEST_F(AmdRing, TilesOfOneIterationAreBuffersApart) {
  ProgramBuilder b("pairs");
  const std::string code = code_of(pairs_of_tiles(b), "gfx1100");
  EXPECT_EQ(count(code, "buffer_load_"), 2) << code;
  EXPECT_EQ(count(code, "0x2000"), 1) << code;      // 8192 bytes
  EXPECT_EQ(count(code, "0x1f00"), 1) << code;      // 256 less
  EXPECT_EQ(count(code, "s_addk_i32"), 1) << code;  // 512 in an iteration
}

}  // namespace
}  // namespace doorbell::codegen::testing
