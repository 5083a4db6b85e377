// Random expressions of all dtypes, before and after the pass, on random memory: equal bits, but
// for which NaN it is. The seed is printed with a failure; DOORBELL_FUZZ_SEED sets the first.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "codegen/lower/decompose.h"
#include "core/eval/eval.h"
#include "core/eval/interpret.h"
#include "core/rules/rules.h"
#include "core/uop/print.h"
#include "core/uop/validate.h"
#include "tests/codegen/lower/lower_test_support.h"

namespace doorbell::codegen {
namespace {

using core::DType;
using core::Op;
using core::UOp;
namespace dtypes = core::dtypes;

constexpr DType kTypes[] = {dtypes::bool_, dtypes::i8,     dtypes::u8,     dtypes::i16,
                            dtypes::u16,   dtypes::i32,    dtypes::u32,    dtypes::i64,
                            dtypes::u64,   dtypes::f16,    dtypes::bf16,   dtypes::f32,
                            dtypes::f64,   dtypes::f8e4m3, dtypes::f8e5m2, dtypes::f8e4m3fnuz};
// The transcendental ones are not exact; MulAcc may round once or twice.
constexpr Op kFloatOps[] = {Op::Add, Op::Sub,  Op::Mul,   Op::FDiv, Op::Max,
                            Op::Neg, Op::Sqrt, Op::Recip, Op::Trunc};
constexpr Op kIntOps[] = {Op::Add,  Op::Sub, Op::Mul,    Op::FloorDiv, Op::FloorMod, Op::CDiv,
                          Op::CMod, Op::Max, Op::And,    Op::Or,       Op::Xor,      Op::Shl,
                          Op::Shr,  Op::Neg, Op::MulAcc, Op::Threefry};
constexpr Op kBoolOps[] = {Op::And, Op::Or, Op::Xor, Op::Max, Op::Mul, Op::Add};
constexpr i64 kCount = 32;

class Generator {
 public:
  explicit Generator(u64 seed) : random_(seed) {
    range_ = arena_.range(0, core::AxisType::Loop, kCount);
  }

  // A kernel that stores one random expression over a few loads.
  UOp kernel() {
    for (usize i = 0; i < 4; ++i) values_.push_back(load(pick(kTypes)));
    for (usize i = 0; i < 14; ++i) values_.push_back(expression());
    UOp value = values_.back();
    out_ = value.dtype();
    UOp memory = arena_.make(Op::Param, out_, {}, {0, kCount});
    UOp target = arena_.make(Op::Index, out_, {memory, range_});
    UOp store = arena_.make(Op::Store, dtypes::void_, {target, value});
    UOp end = arena_.make(Op::End, dtypes::void_, {store, range_});
    return arena_.make(Op::Sink, dtypes::void_, {end});
  }

  std::vector<u8> run(UOp sink) {
    std::vector<u8> out(static_cast<usize>(kCount * out_.bytes()));
    std::vector<void*> params = {out.data()};
    for (std::vector<u8>& input : inputs_) params.push_back(input.data());
    core::interpret(sink, params, {}, {});
    return out;
  }

  core::Arena& arena() { return arena_; }
  DType out() const { return out_; }
  u64 next(u64 below) { return random_() % below; }

 private:
  template <class T, usize n>
  T pick(const T (&choices)[n]) {
    return choices[next(n)];
  }

  UOp load(DType t) {
    std::vector<u8> bytes(static_cast<usize>(kCount * t.bytes()));
    for (u8& byte : bytes) byte = static_cast<u8>(t.is_bool() ? next(2) : random_());
    inputs_.push_back(bytes);
    i64 slot = static_cast<i64>(inputs_.size());
    UOp memory = arena_.make(Op::Param, t, {}, {slot, kCount});
    return arena_.make(Op::Load, t, {arena_.make(Op::Index, t, {memory, range_})});
  }

  UOp any_value() { return values_[values_.size() - 1 - next(std::min<usize>(6, values_.size()))]; }
  // A value of the dtype: a constant, or another one cast.
  UOp value_of(DType t) {
    if (next(5) == 0) return constant(t);
    UOp value = any_value();
    return value.dtype() == t ? value : arena_.make(Op::Cast, t, {value});
  }
  UOp constant(DType t) {
    core::ScalarValue value;
    if (t.is_float())
      value = core::ScalarValue::of_float(t, static_cast<f64>(next(9)) - 3.5);
    else
      value = core::ScalarValue::of_int(t, i64{1} << next(4));  // often a power of two
    return arena_.make(Op::Const, t, {}, {value.bits});
  }

  UOp expression() {
    DType t = next(2) ? any_value().dtype() : pick(kTypes);
    switch (next(8)) {
      case 0: {
        UOp x = value_of(t), y = value_of(t);
        Op op = next(2) ? Op::CmpLt : next(2) ? Op::CmpEq : Op::CmpNe;
        return arena_.make(op, dtypes::bool_, {x, y});
      }
      case 1: {
        UOp condition = value_of(dtypes::bool_), x = value_of(t), y = value_of(t);
        return arena_.make(Op::Where, t, {condition, x, y});
      }
      default: break;
    }
    Op op = t.is_float() ? pick(kFloatOps) : t.is_bool() ? pick(kBoolOps) : pick(kIntOps);
    if (op == Op::Threefry) t = dtypes::u64;
    UOp x = value_of(t), y = value_of(t), z = value_of(t);
    if (core::group_of(op) == core::OpGroup::Unary) return arena_.make(op, t, {x});
    if (core::group_of(op) == core::OpGroup::Binary) return arena_.make(op, t, {x, y});
    return arena_.make(op, t, {x, y, z});
  }

  std::mt19937_64 random_;
  core::Arena arena_;
  UOp range_;
  DType out_;
  std::vector<UOp> values_;
  std::vector<std::vector<u8>> inputs_;
};

// A target that has everything basic, or one without some ops, with or without narrow memory.
Caps random_caps(Generator& generator) {
  Caps caps = basic_caps();
  for (Op op : {Op::Neg, Op::Sub, Op::Recip, Op::Trunc, Op::CmpNe, Op::CMod, Op::MulAcc}) {
    if (generator.next(3) == 0) remove(caps, {op});
  }
  if (generator.next(2)) return caps;
  for (DType t : kTypes) caps.storage_dtypes.set(static_cast<usize>(t.scalar));
  return caps;
}

u64 first_seed() {
  const char* text = std::getenv("DOORBELL_FUZZ_SEED");
  return text ? std::strtoull(text, nullptr, 0) : 1;
}

// The simplifications that change no bit.
const core::RuleSet& exact_rules() {
  static const core::RuleTable* const tables[] = {&core::kGenericRules, &core::kIndexRules,
                                                  &core::kIntRules, &core::kBoolRules,
                                                  &core::kFloatRules};
  static const core::RuleSet rules{std::span(tables)};
  return rules;
}

TEST(DecomposeFuzz, MemoryIsTheSame) {
  for (u64 seed = first_seed(); seed < first_seed() + 3000; ++seed) {
    Generator generator(seed);
    UOp sink = generator.kernel();
    const Caps caps = random_caps(generator);
    core::Rewriter rewriter(generator.arena(), exact_rules());
    UOp lowered = decompose(rewriter, sink, caps);
    core::validate(generator.arena(), lowered, core::Stage::Kernel, "decompose");
    const std::vector<u8> want = generator.run(sink), got = generator.run(lowered);
    const DType t = generator.out();
    const usize size = static_cast<usize>(t.bytes());
    for (usize at = 0; at < want.size(); at += size) {
      core::ScalarValue a = core::load_scalar(t, &got[at]), b = core::load_scalar(t, &want[at]);
      ASSERT_TRUE(a.identical(b)) << "seed " << seed << " element " << at / size << "\n"
                                  << core::print(generator.arena(), sink) << "\n"
                                  << core::print(generator.arena(), lowered);
    }
  }
}

}  // namespace
}  // namespace doorbell::codegen
