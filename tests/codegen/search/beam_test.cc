// The search, with a bench whose plans take made-up times on a made-up clock.
#include "codegen/search/beam.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

#include "base/util/hash.h"
#include "codegen/lower/lower.h"
#include "tests/codegen/support/group_caps.h"
#include "tests/codegen/support/kernels.h"
#include "tests/support/fake_system.h"

namespace doorbell::codegen {
namespace {

Caps cpu_like() {
  Caps caps = group_caps();
  caps.has_local = false;
  caps.masked_access = true;
  return caps;
}

// The best plan has 8 rows and 4 steps of the reduction unrolled; each doubling away costs half.
f64 made_up_ns(const Plan& plan) {
  const f64 rows = std::fabs(std::log2(static_cast<f64>(amount_of(plan, OptOp::Upcast, 0)) / 8));
  const f64 steps = std::fabs(std::log2(static_cast<f64>(amount_of(plan, OptOp::Unroll, 2)) / 4));
  return 1000 * std::pow(1.5, rows + steps);
}

class FakeBench final : public PlanBench {
 public:
  explicit FakeBench(testing::FakeClock& clock) : clock_(clock) {}

  std::vector<std::optional<BuiltPlan>> build(std::span<const Plan> plans) override {
    std::vector<std::optional<BuiltPlan>> built(plans.size());
    for (usize i = 0; i < plans.size(); ++i) {
      ++builds;
      if (does_not_compile && does_not_compile(plans[i])) continue;
      const std::string text = has_one_code ? "the same" : print(plans[i]);
      built[i] = BuiltPlan{hash_bytes(text), std::make_shared<Plan>(plans[i])};
    }
    return built;
  }
  Result<f64> run(const BuiltPlan& built) override {
    const Plan& plan = *static_cast<const Plan*>(built.program.get());
    ++runs[print(plan)];
    if (fails && fails(plan)) return fail(ErrorKind::DeviceLost, "a kernel hangs");
    const f64 ns = takes ? takes(plan, runs[print(plan)]) : made_up_ns(plan);
    clock_.time_ns += static_cast<u64>(ns);
    return ns;
  }

  std::function<bool(const Plan&)> does_not_compile, fails;
  std::function<f64(const Plan&, int run)> takes;  // null: made_up_ns()
  bool has_one_code = false;
  int builds = 0;
  std::map<std::string, int> runs;  // by plan

 private:
  testing::FakeClock& clock_;
};

class BeamTest : public ::testing::Test {
 protected:
  Result<BeamResult> search(int width, MoveGains* gains = nullptr, u64 budget_ns = 4'000'000'000) {
    return search_plans(info_, cpu_like(), start_, bench_, clock_, gains,
                        {.width = width, .budget_ns = budget_ns, .kind = "test"});
  }
  core::KernelAst ast_ = matmul_kernel(64, 64, 64);
  core::Arena arena_;
  KernelInfo info_ = merged_info(ast_, arena_);
  Plan start_ = *parse_plan("VECTOR(1,4) UPCAST(0,2)");
  testing::FakeClock clock_;
  FakeBench bench_{clock_};
};

TEST_F(BeamTest, FailsIfTheFirstPlanDoesNotCompile) {
  bench_.does_not_compile = [](const Plan&) { return true; };
  EXPECT_EQ(search(1).error().message, "the plan to begin with does not compile");
}

TEST_F(BeamTest, FailsIfTheFirstPlanDoesNotRun) {
  bench_.fails = [](const Plan&) { return true; };
  EXPECT_EQ(search(1).error().message, "a kernel hangs");
}

TEST_F(BeamTest, FindsTheBestPlanStepByStep) {
  const Result<BeamResult> result = search(2);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(amount_of(result->plan, OptOp::Upcast, 0), 8);
  EXPECT_EQ(amount_of(result->plan, OptOp::Unroll, 2), 4);
  EXPECT_DOUBLE_EQ(result->heuristic_ns, 1000 * std::pow(1.5, 4));
  EXPECT_NEAR(result->ns, 1000, 1e-6);
}

TEST_F(BeamTest, LeavesOutWhatDoesNotCompileOrRun) {
  bench_.does_not_compile = [](const Plan& p) { return amount_of(p, OptOp::Upcast, 0) > 4; };
  bench_.fails = [](const Plan& p) { return amount_of(p, OptOp::Unroll, 2) > 2; };
  const Result<BeamResult> result = search(2);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(amount_of(result->plan, OptOp::Upcast, 0), 4);
  EXPECT_EQ(amount_of(result->plan, OptOp::Unroll, 2), 2);
}

TEST_F(BeamTest, KeepsTheHeuristicsPlanIfNoneIsFaster) {
  bench_.takes = [&](const Plan& p, int) { return p == start_ ? 1000.0 : 1010.0; };
  EXPECT_EQ(search(2)->plan, start_);
}

// One that was fast by accident, when it was first timed, loses when both are timed in turns.
TEST_F(BeamTest, TimesTheWinnerAgain) {
  bench_.takes = [&](const Plan& p, int run) {
    if (p == start_) return 1000.0;
    return amount_of(p, OptOp::Upcast, 0) == 4 && run == 1 ? 500.0 : 1200.0;
  };
  const Result<BeamResult> result = search(1);
  EXPECT_EQ(result->plan, start_);
  EXPECT_EQ(result->ns, result->heuristic_ns);
}

TEST_F(BeamTest, TimesEqualCodeOnce) {
  bench_.has_one_code = true;
  const Result<BeamResult> result = search(2);
  EXPECT_EQ(result->timed, 1);
  EXPECT_EQ(bench_.runs.size(), 1u);
  EXPECT_EQ(result->plan, start_);
}

TEST_F(BeamTest, StopsSlowCandidatesAfterOneRun) {
  bench_.takes = [&](const Plan& p, int) { return p == start_ ? 1000.0 : 3000.0; };
  ASSERT_TRUE(search(1));
  for (const auto& [plan, runs] : bench_.runs)
    EXPECT_EQ(runs, plan == print(start_) ? 5 : 1) << plan;
}

TEST_F(BeamTest, EndsWithItsBudget) {
  // After the first plan's runs there is no time left.
  bench_.takes = [](const Plan&, int) { return 1e6; };
  const Result<BeamResult> result = search(1, nullptr, 2'000'000);
  ASSERT_TRUE(result);
  EXPECT_EQ(bench_.builds, 1);
  EXPECT_EQ(result->plan, start_);
}

TEST_F(BeamTest, IsTheSameEachTime) {
  const Result<BeamResult> first = search(2);
  testing::FakeClock clock;
  FakeBench bench(clock);
  const Result<BeamResult> second =
      search_plans(info_, cpu_like(), start_, bench, clock, nullptr, {.width = 2, .kind = "test"});
  EXPECT_EQ(first->plan, second->plan);
  EXPECT_EQ(first->timed, second->timed);
}

TEST_F(BeamTest, LearnsWhichMovesToTryFirst) {
  MoveGains gains;
  ASSERT_TRUE(search(1, &gains));
  EXPECT_LT(gains.expected("test", "upcast*2"), 0.9);
  EXPECT_GT(gains.expected("test", "upcast/2"), 1.0);
  EXPECT_EQ(gains.expected("another", "upcast*2"), 1);
}

TEST(MoveGainsTest, RefusesWhatIsNoText) {
  for (const char* text : {"staged", "staged upcast*2 x 1", "staged upcast*2 -1 0", "a b 1 nan"})
    EXPECT_FALSE(MoveGains::parse(text)) << text;
}

TEST(MoveGainsTest, IsKeptAsText) {
  MoveGains gains;
  gains.learn("staged", "tile.k*2", 200, 100);
  gains.learn("staged", "tile.k*2", 100, 1e9);  // counts as a factor of e^1.5
  gains.learn("tiled", "upcast+1", 0, 5);       // not a time
  const std::string text = gains.to_text();
  EXPECT_TRUE(text.starts_with("staged tile.k*2 2 0.80685281944")) << text;
  const Result<MoveGains> again = MoveGains::parse(text);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->to_text(), text);
  // (ln(1/2) + 1.5) / (2 + 2 of no change)
  EXPECT_NEAR(again->expected("staged", "tile.k*2"), std::exp(0.2017132), 1e-6);
}

}  // namespace
}  // namespace doorbell::codegen
