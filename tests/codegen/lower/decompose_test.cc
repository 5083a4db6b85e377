// The pass over kernels: the same results in memory as the kernel had (core/eval's interpreter,
// which rounds every narrow operation on its own), and nothing left that the target lacks.
#include "codegen/lower/decompose.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>

#include "core/eval/eval.h"
#include "core/eval/interpret.h"
#include "core/rules/rules.h"
#include "core/uop/print.h"
#include "tests/codegen/lower/lower_test_support.h"

namespace doorbell::codegen {
namespace {

using core::DType;
using core::Op;
using core::Scalar;
using core::UOp;
namespace dtypes = core::dtypes;

constexpr DType kNarrow[] = {dtypes::f16,    dtypes::bf16,       dtypes::f8e4m3,
                             dtypes::f8e5m2, dtypes::f8e4m3fnuz, dtypes::f8e5m2fnuz};

// With memory of the narrow floats, and casts of them, or without.
Caps narrow_caps(bool stored) {
  Caps caps = basic_caps();
  if (stored) {
    for (DType t : kNarrow) caps.storage_dtypes.set(static_cast<usize>(t.scalar));
  }
  return caps;
}

void expect_only_what_target_has(core::Arena& arena, UOp sink, const Caps& caps) {
  for (UOp u : core::topological_order(arena, {&sink, 1})) {
    bool is_index = u.dtype().is_index();
    for (UOp s : u.srcs()) is_index |= s.dtype().is_index();
    bool converts = u.is(Op::Cast) || u.is(Op::Bitcast) || u.is(Op::Where);
    if (core::is_elementwise(u.op()) && !is_index) {
      EXPECT_TRUE(caps.has(u.op())) << core::name_of(u.op());
    }
    if (core::is_elementwise(u.op()) && !converts && !is_index) {
      EXPECT_TRUE(caps.has(u.dtype())) << core::name_of(u.op()) << " of " << u.dtype().str();
    }
    if (u.is(Op::Load)) {
      EXPECT_TRUE(caps.storage_dtypes[static_cast<usize>(u.dtype().scalar)]) << u.dtype().str();
    }
  }
}

// out[i] = value(in...[i]) for `count` elements, in and out by Param slot; in before and after the
// pass. `value` makes the expression from the loaded elements.
class Kernel {
 public:
  Kernel(i64 count, DType out, std::vector<DType> in,
         const std::function<UOp(core::Arena&, std::span<const UOp>)>& value) {
    UOp range = arena_.range(0, core::AxisType::Loop, count);
    std::vector<UOp> loaded;
    for (usize i = 0; i < in.size(); ++i) {
      UOp memory = arena_.make(Op::Param, in[i], {}, {static_cast<i64>(i) + 1, count});
      UOp element = arena_.make(Op::Index, in[i], {memory, range});
      loaded.push_back(arena_.make(Op::Load, in[i], {element}));
    }
    UOp memory = arena_.make(Op::Param, out, {}, {0, count});
    UOp target = arena_.make(Op::Index, out, {memory, range});
    UOp stored = arena_.make(Op::Store, dtypes::void_, {target, value(arena_, loaded)});
    UOp end = arena_.make(Op::End, dtypes::void_, {stored, range});
    sink_ = arena_.make(Op::Sink, dtypes::void_, {end});
  }

  UOp decompose_for(const Caps& caps) {
    core::Rewriter rewriter(arena_, core::simplify_rules());
    UOp sink = decompose(rewriter, sink_, caps);
    expect_only_what_target_has(arena_, sink, caps);
    return sink;
  }
  UOp sink() const { return sink_; }
  core::Arena& arena() { return arena_; }

 private:
  core::Arena arena_;
  UOp sink_;
};

std::vector<u8> run(UOp sink, usize out_bytes, std::vector<std::vector<u8>>& inputs) {
  std::vector<u8> out(out_bytes);
  std::vector<void*> params = {out.data()};
  for (std::vector<u8>& input : inputs) params.push_back(input.data());
  core::interpret(sink, params, {}, {});
  return out;
}

std::vector<u8> random_bytes(usize count, u64 seed) {
  std::mt19937_64 random(seed);
  std::vector<u8> bytes(count);
  for (u8& byte : bytes) byte = static_cast<u8>(random());
  return bytes;
}

// Equal bits, but for which NaN it is.
void expect_equal_elements(DType t, const std::vector<u8>& got, const std::vector<u8>& want) {
  const usize size = static_cast<usize>(t.bytes());
  for (usize at = 0; at < want.size(); at += size) {
    core::ScalarValue a = core::load_scalar(t, &got[at]), b = core::load_scalar(t, &want[at]);
    ASSERT_TRUE(a.identical(b)) << t.str() << " element " << at / size << ": got "
                                << (t.is_float() ? a.as_float() : static_cast<f64>(a.as_int()))
                                << ", expected "
                                << (t.is_float() ? b.as_float() : static_cast<f64>(b.as_int()));
  }
}

void check(DType out, std::vector<DType> in, bool stored, i64 count,
           const std::function<UOp(core::Arena&, std::span<const UOp>)>& value) {
  Kernel kernel(count, out, in, value);
  std::vector<std::vector<u8>> inputs;
  for (usize i = 0; i < in.size(); ++i) {
    inputs.push_back(random_bytes(static_cast<usize>(count * in[i].bytes()), i + 1));
  }
  usize bytes = static_cast<usize>(count * out.bytes());
  std::vector<u8> want = run(kernel.sink(), bytes, inputs);
  UOp sink = kernel.decompose_for(narrow_caps(stored));
  expect_equal_elements(out, run(sink, bytes, inputs), want);
}

constexpr i64 kCount = 3000;

TEST(Decompose, NarrowArithmeticRoundsEveryOperation) {
  for (bool stored : {true, false}) {
    for (DType t : kNarrow) {
      for (Op op : {Op::Add, Op::Sub, Op::Mul, Op::FDiv, Op::Max}) {
        SCOPED_TRACE(std::string(core::name_of(op)) + " of " + t.str());
        check(t, {t, t, t}, stored, kCount, [&](core::Arena& a, std::span<const UOp> x) {
          UOp first = a.make(op, t, {x[0], x[1]});
          return a.make(Op::Add, t, {first, x[2]});
        });
      }
      for (Op op : {Op::Neg, Op::Sqrt, Op::Trunc, Op::Recip}) {
        SCOPED_TRACE(std::string(core::name_of(op)) + " of " + t.str());
        check(t, {t}, stored, kCount,
              [&](core::Arena& a, std::span<const UOp> x) { return a.make(op, t, {x[0]}); });
      }
    }
  }
}

TEST(Decompose, CastsToNarrowFloatsRoundOnce) {
  for (bool stored : {true, false}) {
    for (DType t : kNarrow) {
      for (DType from : {dtypes::f32, dtypes::f64, dtypes::i8, dtypes::u16, dtypes::i32,
                         dtypes::u32, dtypes::i64, dtypes::u64, dtypes::f16, dtypes::f8e5m2}) {
        SCOPED_TRACE(from.str() + " to " + t.str());
        check(t, {from}, stored, 2 * kCount,
              [&](core::Arena& a, std::span<const UOp> x) { return a.make(Op::Cast, t, {x[0]}); });
      }
    }
  }
}

TEST(Decompose, CastsFromNarrowFloatsAreExact) {
  for (bool stored : {true, false}) {
    for (DType t : kNarrow) {
      for (DType to : {dtypes::f32, dtypes::f64, dtypes::i32, dtypes::u8, dtypes::bf16}) {
        SCOPED_TRACE(t.str() + " to " + to.str());
        check(to, {t}, stored, kCount,
              [&](core::Arena& a, std::span<const UOp> x) { return a.make(Op::Cast, to, {x[0]}); });
      }
    }
  }
}

TEST(Decompose, ChoicesAndComparisonsOfNarrowFloats) {
  for (bool stored : {true, false}) {
    for (DType t : {dtypes::f16, dtypes::bf16, dtypes::f8e4m3}) {
      check(t, {t, t}, stored, kCount, [&](core::Arena& a, std::span<const UOp> x) {
        UOp less = a.make(Op::CmpLt, dtypes::bool_, {x[0], x[1]});
        UOp same = a.make(Op::CmpEq, dtypes::bool_, {x[0], a.const_float(t, 1.5)});
        UOp inner = a.make(Op::Where, t, {same, a.const_float(t, 0.25), x[1]});
        return a.make(Op::Where, t, {less, x[0], inner});
      });
    }
  }
}

// Computed in f32 and rounded: next to exact arithmetic that differs only where the exact value is
// all but in the middle of two numbers.
TEST(Decompose, FunctionsOfNarrowFloatsAreF32s) {
  for (DType t : {dtypes::f16, dtypes::bf16}) {
    for (Op op : {Op::Exp2, Op::Log2, Op::Sin}) {
      SCOPED_TRACE(std::string(core::name_of(op)) + " of " + t.str());
      Kernel kernel(kCount, t, {t},
                    [&](core::Arena& a, std::span<const UOp> x) { return a.make(op, t, {x[0]}); });
      const usize bytes = static_cast<usize>(kCount * 2);
      std::vector<std::vector<u8>> inputs = {random_bytes(bytes, 9)};
      std::vector<u8> want = run(kernel.sink(), bytes, inputs);
      std::vector<u8> got = run(kernel.decompose_for(narrow_caps(false)), bytes, inputs);
      int different = 0;
      for (usize at = 0; at < bytes; at += 2) {
        int a = got[at] | got[at + 1] << 8, b = want[at] | want[at + 1] << 8;
        bool both_nan = std::isnan(core::load_scalar(t, &got[at]).as_float()) &&
                        std::isnan(core::load_scalar(t, &want[at]).as_float());
        if (both_nan) continue;
        different += a != b;
        ASSERT_LE(std::abs(a - b), 1) << "element " << at / 2;
      }
      EXPECT_LE(different, 3);
    }
  }
}

TEST(Decompose, ADtypeWithoutArithmeticIsRefused) {
  Caps caps = basic_caps();
  caps.dtypes.reset(static_cast<usize>(Scalar::F64));
  Kernel kernel(4, dtypes::f64, {dtypes::f64}, [](core::Arena& a, std::span<const UOp> x) {
    return a.make(Op::Add, dtypes::f64, {x[0], x[0]});
  });
  EXPECT_THROW(kernel.decompose_for(caps), InternalError);
}

// A copy through Where needs no conversion, whatever the target stores.
TEST(Decompose, CopiesConvertNothing) {
  Kernel kernel(16, dtypes::bf16, {dtypes::bf16}, [](core::Arena& a, std::span<const UOp> x) {
    UOp range = x[0].src(0).src(1);
    UOp inside = a.make(Op::CmpLt, dtypes::bool_, {range, a.index(9)});
    return a.make(Op::Where, dtypes::bf16, {inside, x[0], a.const_float(dtypes::bf16, 1)});
  });
  UOp sink = kernel.decompose_for(narrow_caps(true));
  EXPECT_EQ(sink, kernel.sink());
}

// The text before and after: x * 2 + 1 of bf16 that the target stores.
TEST(Decompose, RoundsThroughTheStoredDtype) {
  const DType t = dtypes::bf16;
  Kernel kernel(16, t, {t}, [&](core::Arena& a, std::span<const UOp> x) {
    UOp doubled = a.make(Op::Mul, t, {x[0], a.const_float(t, 2)});
    return a.make(Op::Add, t, {doubled, a.const_float(t, 1)});
  });
  UOp sink = kernel.decompose_for(narrow_caps(true));
  EXPECT_EQ(core::print(kernel.arena(), sink), R"(%0 = Param:bf16 {0, 16}
%1 = Const:index 16
%2 = Range:index(%1) {0, loop}
%3 = Index:bf16(%0, %2)
%4 = Param:bf16 {1, 16}
%5 = Index:bf16(%4, %2)
%6 = Load:bf16(%5)
%7 = Cast:f32(%6)
%8 = Const:f32 2
%9 = Mul:f32(%7, %8)
%10 = Cast:bf16(%9)
%11 = Cast:f32(%10)
%12 = Const:f32 1
%13 = Add:f32(%11, %12)
%14 = Cast:bf16(%13)
%15 = Store:void(%3, %14)
%16 = End:void(%15, %2)
%17 = Sink:void(%16)
)");
}

TEST(Decompose, ReductionsOfNarrowFloatsAccumulateInF32) {
  constexpr i64 kRows = 8, kColumns = 64;
  for (Op op : {Op::Add, Op::Max}) {
    core::Arena arena;
    UOp row = arena.range(0, core::AxisType::Loop, kRows);
    UOp column = arena.range(1, core::AxisType::Reduce, kColumns);
    UOp in = arena.make(Op::Param, dtypes::bf16, {}, {1, kRows * kColumns});
    UOp at = arena.make(Op::Add, dtypes::index,
                        {arena.make(Op::Mul, dtypes::index, {row, arena.index(kColumns)}), column});
    UOp x = arena.make(Op::Load, dtypes::bf16, {arena.make(Op::Index, dtypes::bf16, {in, at})});
    UOp reduced = arena.make(Op::Reduce, dtypes::bf16, {x, column}, {static_cast<i64>(op), 0});
    UOp out = arena.make(Op::Param, dtypes::bf16, {}, {0, kRows});
    UOp store = arena.make(Op::Store, dtypes::void_,
                           {arena.make(Op::Index, dtypes::bf16, {out, row}), reduced});
    UOp end = arena.make(Op::End, dtypes::void_, {store, row});
    UOp sink = arena.make(Op::Sink, dtypes::void_, {end});
    core::Rewriter rewriter(arena, core::simplify_rules());
    const Caps caps = narrow_caps(false);
    UOp lowered = decompose(rewriter, sink, caps);
    expect_only_what_target_has(arena, lowered, caps);
    // 64 times 1 + 2^-7 is 64.5, which bf16 has; adding in bf16 would stop gaining long before.
    std::vector<std::vector<u8>> inputs(1);
    for (i64 i = 0; i < kRows * kColumns; ++i) {
      inputs[0].push_back(0x81);
      inputs[0].push_back(0x3f);
    }
    std::vector<u8> got = run(lowered, kRows * 2, inputs);
    u32 bits = static_cast<u32>(got[0] | got[1] << 8) << 16;
    EXPECT_EQ(std::bit_cast<f32>(bits), op == Op::Add ? 64.5f : 1.0078125f);
  }
}

TEST(Decompose, BoolsAreBytesWhereTheTargetStoresNone) {
  Caps caps = basic_caps();
  caps.storage_dtypes.reset(static_cast<usize>(Scalar::Bool));
  Kernel kernel(256, dtypes::bool_, {dtypes::bool_, dtypes::bool_},
                [](core::Arena& a, std::span<const UOp> x) {
                  return a.make(Op::CmpLt, dtypes::bool_, {x[0], x[1]});
                });
  std::vector<std::vector<u8>> inputs(2);
  for (int i = 0; i < 256; ++i) {
    inputs[0].push_back(static_cast<u8>(i & 1));
    inputs[1].push_back(static_cast<u8>(i >> 1 & 1));
  }
  std::vector<u8> want = run(kernel.sink(), 256, inputs);
  EXPECT_EQ(run(kernel.decompose_for(caps), 256, inputs), want);
  EXPECT_EQ(want[2], 1);  // false < true
}

// Bits in and bits out: the dtype itself never gets into a register.
TEST(Decompose, BitcastsOfNarrowFloats) {
  for (bool stored : {true, false}) {
    check(dtypes::u16, {dtypes::f16}, stored, kCount, [](core::Arena& a, std::span<const UOp> x) {
      return a.make(Op::Bitcast, dtypes::u16, {a.make(Op::Neg, dtypes::f16, {x[0]})});
    });
    check(dtypes::bf16, {dtypes::i16}, stored, kCount, [](core::Arena& a, std::span<const UOp> x) {
      UOp bits = a.make(Op::And, dtypes::i16, {x[0], a.const_int(dtypes::i16, 0x7fff)});
      return a.make(Op::Bitcast, dtypes::bf16, {bits});
    });
  }
}

TEST(Decompose, MissingOpsAreMadeFromTheirRelatives) {
  Caps caps = basic_caps();
  remove(caps, {Op::Neg, Op::Sub, Op::Recip, Op::Trunc, Op::Max, Op::CmpNe, Op::MulAcc});
  auto value = [](core::Arena& a, std::span<const UOp> x) {
    DType t = x[0].dtype();
    UOp difference = a.make(Op::Sub, t, {x[0], x[1]});
    UOp larger = a.make(Op::Max, t, {difference, a.make(Op::Neg, t, {x[0]})});
    UOp differs = a.make(Op::CmpNe, dtypes::bool_, {x[0], larger});
    UOp whole = a.make(Op::Trunc, t, {x[1]});
    return a.make(Op::Where, t, {differs, larger, a.make(Op::Add, t, {whole, x[1]})});
  };
  for (DType t : {dtypes::f32, dtypes::f64, dtypes::i32, dtypes::u8}) {
    SCOPED_TRACE(t.str());
    Kernel kernel(kCount, t, {t, t}, value);
    std::vector<std::vector<u8>> inputs;
    usize bytes = static_cast<usize>(kCount * t.bytes());
    for (u64 seed : {1, 2}) inputs.push_back(random_bytes(bytes, seed));
    std::vector<u8> want = run(kernel.sink(), bytes, inputs);
    expect_equal_elements(t, run(kernel.decompose_for(caps), bytes, inputs), want);
  }
}

TEST(Decompose, IndexArithmeticIsLeftAlone) {
  core::Arena arena;
  UOp range = arena.range(0, core::AxisType::Loop, 100);
  UOp in = arena.make(Op::Param, dtypes::f32, {}, {1, 100});
  UOp row = arena.make(Op::FloorDiv, dtypes::index, {range, arena.index(8)});
  UOp x = arena.make(Op::Load, dtypes::f32, {arena.make(Op::Index, dtypes::f32, {in, row})});
  UOp out = arena.make(Op::Param, dtypes::f32, {}, {0, 100});
  UOp store =
      arena.make(Op::Store, dtypes::void_, {arena.make(Op::Index, dtypes::f32, {out, range}), x});
  UOp end = arena.make(Op::End, dtypes::void_, {store, range});
  UOp sink = arena.make(Op::Sink, dtypes::void_, {end});
  core::Rewriter rewriter(arena, core::simplify_rules());
  const Caps caps = basic_caps();
  EXPECT_EQ(decompose(rewriter, sink, caps), sink);
}

}  // namespace
}  // namespace doorbell::codegen
