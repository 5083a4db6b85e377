// The notation, matching and the rewriter, with small tables of their own.
#include "core/rewrite/rewriter.h"

#include <gtest/gtest.h>

#include "core/rewrite/match.h"
#include "core/rewrite/trace.h"

namespace doorbell::core {
namespace {

using namespace pat;

// What must not compile is not a constant expression.
template <int zero>
concept UnboundNameCompiles =
    requires { typename std::integral_constant<int, (detail::check_rule(x + zero, y), 0)>; };
template <int zero>
concept BoundNameCompiles =
    requires { typename std::integral_constant<int, (detail::check_rule(x + zero, x), 0)>; };
template <int zero>
concept UnboundConstantCompiles = requires {
  typename std::integral_constant<int, (detail::check_rule(x + zero, x * fold(c0 + 1)), 0)>;
};
static_assert(BoundNameCompiles<0>);
static_assert(!UnboundNameCompiles<0>);
static_assert(!UnboundConstantCompiles<0>);

bool divides(const Match& m) { return m.c(0) != 0 && m.c(1) % m.c(0) == 0; }
UOp unroll_reduce(const Match& m) { return m.node().nsrc() == 1 ? m.node().src(0) : UOp(); }

constexpr Rule kRules[] = {
    rw("add-zero", x + 0, x),
    rw("factor", x* c0 + x * c1, x* fold(c0 + c1)),
    rw("div-of-mul", (x * c1) / c0, x* fold(c1 / c0), divides),
    rw("max-sum", max(x + y, x), max(y, 0) + x),
    rw("trivial-reduce", any(Op::Reduce), unroll_reduce),
};
constexpr RuleTable kTable{"test", Domain::Index, kRules};
constexpr const RuleTable* kTables[] = {&kTable};

struct RewriterTest : ::testing::Test {
  Arena arena;
  Rewriter r{arena, kTables};
  UOp range(i64 id) { return arena.range(id, AxisType::Loop, 10); }
  UOp index(i64 v) { return arena.index(v); }
};

TEST_F(RewriterTest, AppliesARule) {
  UOp i = range(0);
  EXPECT_EQ(r.add(i, index(0)), i);
  EXPECT_EQ(r.add(r.mul(i, index(3)), r.mul(i, index(4))), r.mul(i, index(7)));
}

TEST_F(RewriterTest, OneNameIsOneNode) {
  UOp i = range(0), j = range(1);
  EXPECT_TRUE(r.add(r.mul(i, index(3)), r.mul(j, index(4))).is(Op::Add));
}

TEST_F(RewriterTest, TriesCommutativeOpsBothWays) {
  UOp i = range(0), j = range(1);
  UOp expected = r.add(r.max(j, index(0)), i);
  EXPECT_EQ(r.max(r.add(i, j), i), expected);
  EXPECT_EQ(r.max(r.add(j, i), i), expected);
  EXPECT_EQ(r.max(i, r.add(j, i)), expected);
}

TEST_F(RewriterTest, ConditionsDecide) {
  UOp i = range(0);
  EXPECT_EQ(r.floordiv(r.mul(i, index(6)), index(3)), r.mul(i, index(2)));
  EXPECT_TRUE(r.floordiv(r.mul(i, index(5)), index(3)).is(Op::FloorDiv));
}

TEST_F(RewriterTest, DoesNotFireWhereAFoldOverflows) {
  UOp i = range(0), a = r.mul(i, index(INT64_MAX)), b = r.mul(i, index(1));
  UOp sum = r.add(a, b);
  EXPECT_TRUE(sum.is(Op::Add));
  EXPECT_EQ(sum.src(0), a);
}

TEST_F(RewriterTest, RemembersWhatItSimplified) {
  UOp i = range(0);
  UOp written = arena.make(Op::Add, dtypes::index, {i, index(0)});
  EXPECT_EQ(r.rewrite(written), i);
  u64 visits = r.visits();
  EXPECT_EQ(r.rewrite(written), i);
  EXPECT_EQ(r.add(i, index(0)), i);
  EXPECT_EQ(r.visits(), visits);
}

TEST_F(RewriterTest, RewritesWholeGraphs) {
  UOp i = range(0), j = range(1);
  UOp zero = arena.make(Op::Add, dtypes::index, {j, index(0)});
  UOp a = arena.make(Op::Mul, dtypes::index, {zero, index(2)});
  UOp b = arena.make(Op::Mul, dtypes::index, {j, index(5)});
  UOp sum = arena.make(Op::Add, dtypes::index, {a, b});
  UOp root = arena.make(Op::Max, dtypes::index, {sum, i});
  EXPECT_EQ(r.rewrite(root), r.max(r.mul(j, index(7)), i));
}

TEST_F(RewriterTest, ADeepChainNeedsNoStack) {
  UOp chain = range(0);
  for (int n = 0; n < 200000; ++n)
    chain = arena.make(Op::Max, dtypes::index, {chain, arena.index(n + 1)});
  UOp rewritten = r.rewrite(chain);
  EXPECT_EQ(rewritten, chain);
}

TEST_F(RewriterTest, SubstitutesAndSimplifiesWhatChanges) {
  UOp i = range(0), j = range(1), k = range(2);
  UOp sum = r.add(r.max(i, j), r.mul(k, index(3)));
  EXPECT_EQ(r.substitute(sum, std::array{std::pair{k, i}}), r.add(r.max(i, j), r.mul(i, index(3))));
  EXPECT_EQ(r.substitute(sum, std::array{std::pair{i, j}, std::pair{j, i}}),
            r.add(r.max(j, i), r.mul(k, index(3))));
  UOp shifted = r.add(i, k);
  EXPECT_EQ(r.substitute(shifted, std::array{std::pair{k, index(0)}}), i);
  EXPECT_EQ(r.substitute(i, std::array{std::pair{i, k}}), k);
  EXPECT_EQ(r.substitute(sum, std::array{std::pair{range(9), k}}), sum);
}

TEST_F(RewriterTest, TracesFirings) {
  std::vector<std::string> names;
  r.set_trace([](void* context, const Rule& rule, UOp,
                 UOp) { static_cast<std::vector<std::string>*>(context)->emplace_back(rule.name); },
              &names);
  UOp i = range(0);
  UOp sum = r.add(r.mul(i, index(3)), r.mul(i, index(4)));
  r.floordiv(sum, index(7));
  EXPECT_EQ(names, (std::vector<std::string>{"factor", "div-of-mul"}));
  EXPECT_EQ(r.firings(), 2u);
}

TEST_F(RewriterTest, FormulasAreShort) {
  UOp sum = arena.make(Op::Add, dtypes::index, {range(0), index(4)});
  EXPECT_EQ(formula(sum), "Add(r0, 4)");
  for (int n = 0; n < 3; ++n) sum = arena.make(Op::Neg, dtypes::index, {sum});
  EXPECT_EQ(formula(sum, 2), "Neg(Neg(Neg(...)))");
}

TEST_F(RewriterTest, ExplainsAMiss) {
  UOp i = range(0);
  UOp quotient = arena.make(Op::FloorDiv, dtypes::index, {i, index(3)});
  EXPECT_EQ(explain(kRules[2], quotient, r), "wanted Mul, found Range");
  UOp product = arena.make(Op::Mul, dtypes::index, {i, index(5)});
  UOp indivisible = arena.make(Op::FloorDiv, dtypes::index, {product, index(3)});
  EXPECT_EQ(explain(kRules[2], indivisible, r), "a condition does not hold");
  UOp zero = arena.make(Op::Add, dtypes::index, {i, index(0)});
  EXPECT_EQ(explain(kRules[0], zero, r), "applies");
}

// swap and swap back would go on for ever.
constexpr Rule kOpposites[] = {
    rw("there", max(x, y) + z, max(x + z, y + z)),
    rw("back", max(x + z, y + z), max(x, y) + z),
};
constexpr RuleTable kOppositeTable{"opposites", Domain::Index, kOpposites};
constexpr const RuleTable* kOppositeTables[] = {&kOppositeTable};

TEST(RewriterLoops, RulesThatUndoEachOtherEnd) {
  Arena arena;
  Rewriter r(arena, kOppositeTables);
  UOp i = arena.range(0, AxisType::Loop, 5), j = arena.range(1, AxisType::Loop, 5),
      k = arena.range(2, AxisType::Loop, 5);
  UOp result = r.add(r.max(i, j), k);
  EXPECT_TRUE(result.is(Op::Add) || result.is(Op::Max));
  EXPECT_LT(arena.node_count(), 100u);
}

TEST(Pattern, PrintsAsWritten) {
  EXPECT_EQ(to_string(kRules[1].left), "(x * c0) + (x * c1)");
  EXPECT_EQ(to_string(kRules[3].right), "Max(y, 0) + x");
  EXPECT_EQ(to_string(where(x, 1.5, -y)), "Where(x, 1.5, Neg(y))");
}

TEST(VectorConstants, MatchAsSplats) {
  Arena arena;
  Rewriter r(arena, kTables);
  DType v4 = dtypes::index.with_lanes(4);
  UOp v = arena.make(Op::Ramp, v4, {arena.range(0, AxisType::Loop, 5)}, {1});
  EXPECT_EQ(r.add(v, arena.const_of(v4, 0)), v);
  UOp sum = r.add(r.mul(v, arena.const_of(v4, 3)), r.mul(v, arena.const_of(v4, 4)));
  EXPECT_EQ(sum, r.mul(v, arena.const_of(v4, 7)));
}

}  // namespace
}  // namespace doorbell::core
