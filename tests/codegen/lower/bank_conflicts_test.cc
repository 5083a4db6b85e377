// Bank conflicts of the tiles of matrix products: local memory has 32 banks of 4 bytes, so that 128
// bytes are served at once, those of as many neighbouring items as fill them, if all lie in
// different banks. [AMD "RDNA3 ISA", 12.1 "Overview" of the LDS; CUDA Programming Guide 13,
// "Shared Memory", "Bank Conflicts"]
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/util/check.h"
#include "codegen/lower/lower.h"
#include "codegen/opt/split_depth.h"
#include "codegen/render/amd_caps.h"
#include "codegen/render/memory.h"
#include "codegen/render/nv_caps.h"
#include "tests/codegen/support/kernels.h"
#include "tests/codegen/support/products.h"

namespace doorbell::codegen {
namespace {

using core::Op;
using core::UOp;
namespace dt = core::dtypes;

constexpr i64 kBytes = 128, kBank = 4;

// The value of an index in the first iteration of all loops, by the items of a group.
class Index {
 public:
  Index(const LinearProgram& program, i64 item) {
    for (i64 axis = 0; axis < 3; ++axis) {
      item_[axis] = item % program.group_items[axis];
      item /= program.group_items[axis];
    }
  }
  i64 of(UOp u) {
    if (const auto found = known_.find(u.id()); found != known_.end()) return found->second;
    return known_[u.id()] = compute(u);
  }

 private:
  i64 compute(UOp u) {
    auto x = [&] { return of(u.src(0)); };
    auto y = [&] { return of(u.src(1)); };
    switch (u.op()) {
      case Op::Const: return u.const_int();
      case Op::Range: return 0;
      case Op::Special: {
        const bool local = static_cast<core::SpecialKind>(u.arg(0)) == core::SpecialKind::LocalId;
        return local ? item_[u.arg(1)] : 0;
      }
      case Op::Cast: return x();
      case Op::Add: return x() + y();
      case Op::Sub: return x() - y();
      case Op::Mul: return x() * y();
      case Op::And: return x() & y();
      case Op::Xor: return x() ^ y();
      case Op::Shl: return x() << y();
      case Op::Shr: return x() >> y();
      case Op::CDiv: return x() / y();
      case Op::CMod: return x() % y();
      default: UNREACHABLE("{} in an index", core::name_of(u.op()));
    }
  }

  i64 item_[3];
  std::map<u32, i64> known_;
};

// The most of the items that are served at once whose bytes lie in one bank, at different places.
i64 most_in_a_bank(const LinearProgram& program, UOp index, core::DType t) {
  const i64 bytes = t.bytes(), together = std::max<i64>(1, kBytes / bytes);
  const i64 items = program.group_items[0] * program.group_items[1] * program.group_items[2];
  i64 most = 0;
  for (i64 first = 0; first + together <= items; first += together) {
    std::map<i64, std::vector<i64>> places;  // by bank, in words
    for (i64 item = first; item < first + together; ++item) {
      const i64 at = Index(program, item).of(index.src(1)) * t.element().bytes();
      for (i64 word = at / kBank; word < (at + bytes + kBank - 1) / kBank; ++word) {
        std::vector<i64>& bank = places[word % (kBytes / kBank)];
        if (std::find(bank.begin(), bank.end(), word) == bank.end()) bank.push_back(word);
      }
    }
    for (const auto& [bank, words] : places) most = std::max(most, static_cast<i64>(words.size()));
  }
  return most;
}

struct Product {
  const char* chip;
  core::DType dtype;
  bool transposed;
  i64 loads = 1;  // the most in a bank, of loads; of stores 1
};

Caps caps_of(std::string_view chip) {
  return chip.starts_with("gfx") ? amd_caps(*amd::hw::find_chip(chip))
                                 : nv_caps(*nv::hw::find_chip(chip));
}

void expect_few_conflicts(const LinearProgram& program, i64 most_of_loads, i64 most_of_stores) {
  int loads = 0, stores = 0;
  for (UOp u : program.ops) {
    // By its definition: the units at one place of eight rows lie in different banks.
    if (reads_local(u)) ++loads;
    if (!(u.is(Op::Load) || u.is(Op::Store)) || !u.src(0).is(Op::Index)) continue;
    if (!memory_of(u.src(0)).is(Op::DefineLocal)) continue;
    const core::DType access = u.is(Op::Load) ? u.dtype() : u.src(1).dtype();
    ++(u.is(Op::Load) ? loads : stores);
    // The renderer makes accesses of 16 bytes of longer ones.
    const i64 most = std::max<i64>(1, 16 / access.element().bytes());
    const core::DType one = access.with_lanes(static_cast<u16>(std::min<i64>(access.lanes, most)));
    EXPECT_LE(most_in_a_bank(program, u.src(0), one),
              u.is(Op::Load) ? most_of_loads : most_of_stores)
        << core::name_of(u.op()) << " of " << access.str() << " in " << program.plan;
  }
  EXPECT_GT(loads, 0);
  EXPECT_GT(stores, 0);
}

class BankConflicts : public ::testing::TestWithParam<Product> {};

TEST_P(BankConflicts, None) {
  const auto& [chip, t, transposed, most_of_loads] = GetParam();
  core::Arena arena;
  const LinearProgram program =
      lower(narrow_product_kernel(t, {1, 4096, 4096, 4096}, transposed), caps_of(chip), arena);
  expect_few_conflicts(program, most_of_loads, 1);
}

// The items that copy the last of the image's first channels, and the first of the next, are among
// the eight that are served at once.
TEST(BankConflictsOfWindows, OneWhereChannelsEnd) {
  for (const char* chip : {"gfx1100", "gfx1201", "gfx942", "sm_75", "sm_80", "sm_90"}) {
    for (const i64 images : {1, 8}) {
      for (const i64 pad : {0, 1}) {
        SCOPED_TRACE(fmt::format("{}, {} images padded by {}", chip, images, pad));
        core::Arena arena;
        const core::KernelAst kernel = conv_kernel(images, 64, 64, 66 - 2 * pad, 3, pad, dt::f16);
        expect_few_conflicts(lower(kernel, caps_of(chip), arena), 1, 2);
      }
    }
  }
}

// Items copy blocks of more rows, and parts of a long operand.
TEST(BankConflictsOfFewRows, None) {
  for (const char* chip : {"gfx1100", "gfx942", "sm_80", "sm_90"}) {
    for (const core::DType t : {dt::f16, dt::i8}) {
      SCOPED_TRACE(fmt::format("{}, {}", chip, t.str()));
      core::Arena arena;
      ProductSizes sizes{1, 64, 4096, 4096};
      const core::DType sum = t.is_float() ? dt::f32 : dt::i32;
      sizes.parts = depth_parts({t, sum, 1, 64, 4096, 4096, true, false}, caps_of(chip));
      expect_few_conflicts(lower(narrow_product_kernel(t, sizes, false), caps_of(chip), arena), 1,
                           1);
    }
  }
}

// Bytes that matrix loads transpose in pairs, of both operands or of one, in tiles of one, two and
// four units of 16 bytes.
TEST(BankConflictsOfColumns, None) {
  constexpr i64 kCore = 30;  // mma.sync of i8
  for (const bool transposed : {false, true}) {
    for (const i64 units : {1, 2, 4}) {
      const Plan plan{{OptOp::Rows, 0, kCore},   {OptOp::Columns, 1, kCore},
                      {OptOp::Depth, 2, kCore},  {OptOp::Upcast, 0, units},
                      {OptOp::Upcast, 1, units}, {OptOp::Tile, 2, 64},
                      {OptOp::Stage, 1, 3},      {OptOp::Stage, 2, 3}};
      core::Arena arena;
      const core::KernelAst kernel =
          narrow_product_kernel(dt::i8, {1, 64, 64, 512}, transposed, true);
      expect_few_conflicts(lower(kernel, caps_of("sm_80"), arena, {.plan = &plan}), 1, 1);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Amd, BankConflicts,
    ::testing::Values(Product{"gfx1100", dt::f16, false}, Product{"gfx1100", dt::f16, true},
                      Product{"gfx1100", dt::i8, false}, Product{"gfx1100", dt::i8, true},
                      Product{"gfx1201", dt::bf16, false}, Product{"gfx1201", dt::bf16, true},
                      Product{"gfx1201", dt::f8e4m3, false, 2},
                      Product{"gfx1201", dt::f8e4m3, true, 2}, Product{"gfx942", dt::f16, false},
                      Product{"gfx942", dt::f16, true}, Product{"gfx942", dt::i8, false},
                      Product{"gfx942", dt::i8, true}));

INSTANTIATE_TEST_SUITE_P(
    Nv, BankConflicts,
    ::testing::Values(Product{"sm_75", dt::f16, false}, Product{"sm_80", dt::f16, false},
                      Product{"sm_80", dt::f16, true}, Product{"sm_80", dt::i8, false},
                      Product{"sm_80", dt::i8, true}, Product{"sm_89", dt::bf16, false},
                      Product{"sm_89", dt::bf16, true}, Product{"sm_89", dt::f8e4m3, false},
                      Product{"sm_89", dt::f8e4m3, true}, Product{"sm_90", dt::bf16, false},
                      Product{"sm_90", dt::bf16, true}, Product{"sm_90", dt::f8e4m3, false},
                      Product{"sm_90", dt::f8e4m3, true}));

}  // namespace
}  // namespace doorbell::codegen
