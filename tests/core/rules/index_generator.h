// Random index expressions, each as written and as the Rewriter made it, for the fuzzer and for the
// proofs. What is compared is theirs.
#pragma once

#include <random>

#include <gtest/gtest.h>

#include "core/eval/eval_graph.h"
#include "core/rules/rules.h"
#include "core/uop/print.h"

namespace doorbell::core::testing {

// An expression as written, and as the Rewriter made it.
struct Pair {
  UOp written, simple;
};

class IndexGenerator {
 public:
  explicit IndexGenerator(u64 seed) : random_(seed), rewriter_(arena_, simplify_rules()) {
    static constexpr i64 kSizes[] = {1, 2, 3, 4, 5, 7, 8, 12, 16, 30};
    for (i64 id = 0; id < 4; ++id) leaf(arena_.range(id, AxisType::Loop, kSizes[pick(10)]));
    UOp m = arena_.make(Op::Variable, dtypes::index, {}, {intern_name("m"), 1, 9});
    leaf(m);
    leaf(arena_.range(4, AxisType::Loop, m));
    UOp four = arena_.make(Op::Mul, dtypes::index, {m, arena_.index(4)});
    leaf(arena_.range(5, AxisType::Loop, four));
    leaf(arena_.make(Op::Variable, dtypes::index, {}, {intern_name("n"), -6, 11}));
  }

  Pair index(int depth) {
    if (depth == 0 || pick(12) == 0) {
      if (pick(4) == 0) return constant(pick(25) - 12);
      return leaves_[static_cast<usize>(pick(static_cast<i64>(leaves_.size())))];
    }
    switch (pick(14)) {
      case 0:
      case 1:
      case 2:
      case 3: return make(Op::Add, {index(depth - 1), index(depth - 1)});
      case 4: return make(Op::Sub, {index(depth - 1), index(depth - 1)});
      case 5:
      case 6: return make(Op::Mul, {index(depth - 1), constant(factor())});
      case 7:
      case 8: return make(Op::FloorDiv, {index(depth - 1), constant(divisor())});
      case 9:
      case 10: return make(Op::FloorMod, {index(depth - 1), constant(divisor())});
      case 11: return make(Op::Max, {index(depth - 1), index(depth - 1)});
      case 12:
        if (pick(3) == 0) {
          Op op = std::array{Op::Mul, Op::FloorDiv, Op::FloorMod, Op::CDiv,
                             Op::CMod}[static_cast<usize>(pick(5))];
          Pair right = pick(2) ? index(depth - 1) : leaves_[4];  // the symbolic size
          return make(op, {index(depth - 1), right});
        }
        return make(Op::Neg, {index(depth - 1)});
      default: return make(Op::Where, {condition(depth - 1), index(depth - 1), index(depth - 1)});
    }
  }

  Pair condition(int depth) {
    switch (depth == 0 ? pick(4) : pick(8)) {
      case 0:
      case 1: return compare(Op::CmpLt, depth);
      case 2: return compare(Op::CmpEq, depth);
      case 3: return compare(Op::CmpNe, depth);
      case 4:
      case 5: return make(Op::And, {condition(depth - 1), condition(depth - 1)});
      case 6: return make(Op::Or, {condition(depth - 1), condition(depth - 1)});
      default: {
        UOp yes = arena_.const_int(dtypes::bool_, 1);
        return make(Op::CmpNe, {condition(depth - 1), {yes, yes}});
      }
    }
  }

  // Both sides at one point; what they gave where they differ.
  ::testing::AssertionResult agree(Pair pair, int points) {
    GraphProgram program(std::array{pair.written, pair.simple});
    for (int point = 0; point < points; ++point) {
      std::string at;
      i64 size = 0;  // of the symbolic ranges, which follow it
      for (const Pair& leaf : leaves_) {
        i64 low = leaf.written.vmin(), high = leaf.written.vmax();
        if (leaf.written.is(Op::Range) && !leaf.written.src(0).is_const())
          high = (leaf.written.src(0).is(Op::Mul) ? size * 4 : size) - 1;
        i64 value = point == 0 ? low : point == 1 ? high : low + pick(high - low + 1);
        if (leaf.written.is(Op::Variable)) size = value;
        program.set(leaf.written, value);
        at += " " + std::to_string(value);
      }
      program.run();
      auto written = program.value(pair.written), simple = program.value(pair.simple);
      if (!written) continue;  // overflowed: nothing is promised
      if (simple && simple->bits == written->bits) {
        i64 v = written->as_int();
        if (v >= pair.simple.vmin() && v <= pair.simple.vmax()) continue;
      }
      return ::testing::AssertionFailure()
             << "written " << written->bits << ", simplified "
             << (simple ? std::to_string(simple->bits) : "nothing") << " at" << at << "\n"
             << print(arena_, pair.written) << "\n"
             << print(arena_, pair.simple);
    }
    return ::testing::AssertionSuccess();
  }

  Rewriter& rewriter() { return rewriter_; }
  const std::vector<Pair>& leaves() const { return leaves_; }
  Arena& arena() { return arena_; }
  i64 pick(i64 count) { return static_cast<i64>(random_() % static_cast<u64>(count)); }

 private:
  void leaf(UOp uop) { leaves_.push_back({uop, rewriter_.rewrite(uop)}); }
  Pair constant(i64 value) { return {arena_.index(value), arena_.index(value)}; }
  i64 factor() {
    static constexpr i64 kFactors[] = {0, 1, 2, 3, 4, 5, 6, 8, 12, 16, -1, -2, -4};
    return kFactors[pick(13)];
  }
  i64 divisor() {
    static constexpr i64 kDivisors[] = {1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 60, -1, -3, 0};
    return kDivisors[pick(15)];
  }
  Pair compare(Op op, int depth) {
    int below = depth > 0 ? depth - 1 : 0;
    return make(op, {index(below), pick(2) ? constant(pick(60) - 20) : index(below)});
  }
  Pair make(Op op, std::vector<Pair> srcs) {
    std::vector<UOp> written, simple;
    for (const Pair& src : srcs) {
      written.push_back(src.written);
      simple.push_back(src.simple);
    }
    DType t = is_comparison(op) || op == Op::And || op == Op::Or ? dtypes::bool_ : dtypes::index;
    return {arena_.make(op, t, written), rewriter_.make(op, t, simple)};
  }

  std::mt19937_64 random_;
  Arena arena_;
  Rewriter rewriter_;
  std::vector<Pair> leaves_;
};

}  // namespace doorbell::core::testing
