// Proofs by Z3 that simplified index expressions equal what was written, for all values of their
// ranges, not only those a fuzzer hits. Built where libz3 is; what Z3 cannot decide in time is not
// counted.
#include <z3++.h>

#include <unordered_map>

#include "base/util/check.h"
#include "tests/core/rules/index_generator.h"

namespace doorbell::core {
namespace {

using testing::IndexGenerator;
using testing::Pair;

class Prover {
 public:
  Prover() : solver_(context_) {
    z3::params limits(context_);
    limits.set("rlimit", 300000u);  // deterministic, unlike a time
    solver_.set(limits);
  }

  z3::check_result differ(const IndexGenerator& generator, Pair pair) {
    solver_.reset();
    terms_.clear();
    for (const Pair& leaf : generator.leaves()) {
      z3::expr term = context_.int_const(("v" + std::to_string(leaf.written.id())).c_str());
      terms_.emplace(leaf.written.node(), term);
      solver_.add(term >= context_.int_val(static_cast<int64_t>(leaf.written.vmin())));
      solver_.add(term <= context_.int_val(static_cast<int64_t>(leaf.written.vmax())));
      if (leaf.written.is(Op::Range)) solver_.add(term < term_of(leaf.written.src(0)));
    }
    solver_.add(term_of(pair.written) != term_of(pair.simple));
    return solver_.check();
  }

 private:
  z3::expr number(i64 value) { return context_.int_val(static_cast<int64_t>(value)); }

  // Z3's div and mod are Euclidean; by a positive divisor that is floor division.
  z3::expr floor_div(z3::expr a, z3::expr b) {
    return z3::ite(b == 0, number(0), z3::ite(b > 0, z3::expr(a / b), z3::expr((-a) / (-b))));
  }
  z3::expr c_div(z3::expr a, z3::expr b) {
    z3::expr magnitude = floor_div(z3::ite(a < 0, -a, a), z3::ite(b < 0, -b, b));
    return z3::ite((a < 0) == (b < 0), magnitude, -magnitude);
  }

  // Expressions here are a few levels deep, so recursion is fine.
  z3::expr term_of(UOp uop) {
    if (auto known = terms_.find(uop.node()); known != terms_.end()) return known->second;
    z3::expr term = make_term(uop);
    terms_.emplace(uop.node(), term);
    return term;
  }
  z3::expr make_term(UOp uop) {
    if (uop.is_const())
      return uop.dtype().is_bool() ? context_.bool_val(uop.arg(0) != 0) : number(uop.arg(0));
    z3::expr a = term_of(uop.src(0));
    if (uop.nsrc() == 1) return -a;
    z3::expr b = term_of(uop.src(1));
    switch (uop.op()) {
      case Op::Add: return a + b;
      case Op::Sub: return a - b;
      case Op::Mul: return a * b;
      case Op::FloorDiv: return floor_div(a, b);
      case Op::FloorMod: return z3::ite(b == 0, number(0), a - b * floor_div(a, b));
      case Op::CDiv: return z3::ite(b == 0, number(0), c_div(a, b));
      case Op::CMod: return z3::ite(b == 0, number(0), a - b * c_div(a, b));
      case Op::Max: return z3::ite(a > b, a, b);
      case Op::CmpLt: return a < b;
      case Op::CmpEq: return a == b;
      case Op::CmpNe: return a != b;
      case Op::And: return a && b;
      case Op::Or: return a || b;
      case Op::Where: return z3::ite(a, b, term_of(uop.src(2)));
      default: UNREACHABLE("{} in an index expression", name_of(uop.op()));
    }
  }

  z3::context context_;
  z3::solver solver_;
  std::unordered_map<const Node*, z3::expr> terms_;
};

TEST(IndexProof, SimplifiedExpressionsEqualWhatWasWritten) {
  Prover prover;
  int proven = 0;
  for (u64 seed = 1; seed <= 25; ++seed) {
    IndexGenerator generator(seed);
    for (int i = 0; i < 20; ++i) {
      Pair pair = generator.pick(3) ? generator.index(3) : generator.condition(3);
      if (pair.written == pair.simple) continue;
      z3::check_result different = prover.differ(generator, pair);
      ASSERT_NE(different, z3::sat) << "seed " << seed << "\n"
                                    << print(generator.arena(), pair.written) << "\n"
                                    << print(generator.arena(), pair.simple);
      proven += different == z3::unsat;
    }
  }
  EXPECT_GT(proven, 120);
}

}  // namespace
}  // namespace doorbell::core
