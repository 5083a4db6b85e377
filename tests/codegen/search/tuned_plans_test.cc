// Plans as text and on disk.
#include "codegen/search/tuned_plans.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "base/os/host.h"

namespace doorbell::codegen {
namespace {

TEST(PlanTextTest, RefusesWhatIsNoPlan) {
  for (const char* text : {"VECTOR", "VECTOR(1,4", "VECTOR(1,4)UPCAST(0,2)", "SPIN(1,2)",
                           "UPCAST(64,2)", "UPCAST(-1,2)", "TILE(0,0)", " ", "TILE(0,2) "})
    EXPECT_FALSE(parse_plan(text)) << text;
}

TEST(PlanTextTest, PrintsWhatItParses) {
  for (const char* text :
       {"", "VECTOR(1,32) UPCAST(0,8)", "STAGE(1) STAGE(2,2) ROWS(0,3)",
        "PERSISTENT(132) JOIN(2,0)",
        "THREAD(0,2) TILE(2,7) LOCAL(1,4) GROUP(2,8) UNROLL(3,2) COLUMNS(1,3) DEPTH(2,3)"}) {
    const Result<Plan> plan = parse_plan(text);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(print(*plan), text);
  }
}

class TunedPlansTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(mkdtemp(folder_.data()), nullptr); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path() const { return folder_ + "/plans.db"; }
  static TunedPlan plan() {
    return {*parse_plan("VECTOR(1,16)"), 10, 25, "matmul_8_8", "LLVM; a CPU"};
  }
  std::string folder_ = "/tmp/doorbell_plans_XXXXXX";
  const CacheKey key_ = make_cache_key("a kernel");
};

TEST_F(TunedPlansTest, MakesNoFileToLookSomethingUp) {
  TunedPlans plans(os::host_files(), path());
  EXPECT_FALSE(plans.find(key_));
  EXPECT_EQ(plans.gains("LLVM").to_text(), "");
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(TunedPlansTest, KeepsPlansForTheNextProcess) {
  MoveGains gains;
  gains.learn("tiled", "upcast+1", 2, 1);
  {
    TunedPlans plans(os::host_files(), path());
    plans.store(key_, plan());
    plans.store_gains("LLVM", gains);
  }
  TunedPlans plans(os::host_files(), path());
  const std::optional<TunedPlan> found = plans.find(key_);
  ASSERT_TRUE(found);
  EXPECT_EQ(print(found->plan), "VECTOR(1,16)");
  EXPECT_EQ(found->ns, 10);
  EXPECT_EQ(found->heuristic_ns, 25);
  EXPECT_EQ(found->kernel, "matmul_8_8");
  EXPECT_EQ(plans.gains("LLVM").to_text(), gains.to_text());
  EXPECT_EQ(plans.gains("CUDA").to_text(), "");
}

TEST_F(TunedPlansTest, WithoutAPathPlansLiveAsLongAsTheProcess) {
  TunedPlans plans(os::host_files(), "");
  plans.store(key_, plan());
  EXPECT_TRUE(plans.find(key_));
  EXPECT_EQ(plans.export_text(), "doorbell plans 1\n");
}

TEST_F(TunedPlansTest, MovesToAnotherMachineAsText) {
  TunedPlans here(os::host_files(), path());
  here.store(key_, plan());
  const std::string text = here.export_text();
  EXPECT_NE(text.find("\t10.0\t25.0\tVECTOR(1,16)\tmatmul_8_8\tLLVM; a CPU\n"), text.npos) << text;
  TunedPlans there(os::host_files(), folder_ + "/other.db");
  const Result<i64> count = there.import_text(text);
  ASSERT_TRUE(count) << count.error().message;
  EXPECT_EQ(*count, 1);
  ASSERT_TRUE(there.find(key_));
  EXPECT_EQ(there.export_text(), text);
}

TEST_F(TunedPlansTest, ImportsAllLinesOrNone) {
  TunedPlans plans(os::host_files(), path());
  const std::string good =
      "doorbell plans 1\n" + std::string(32, '1') + "\t1\t2\tTILE(0,4)\tk\tt\n";
  EXPECT_EQ(plans.import_text("plans").error().message,
            "the first line is 'plans', expected 'doorbell plans 1'");
  EXPECT_EQ(plans.import_text(good + "12\t1\t2\t\tk\tt\n").error().message,
            "line 3: '12' is no key of a plan");
  EXPECT_EQ(plans.import_text(good + std::string(32, '2') + "\t1\t2\tTILE\tk\tt\n").error().message,
            "line 3: 'TILE' is no plan");
  EXPECT_EQ(plans.import_text(good + std::string(32, '2') + "\t1\n").error().message,
            "line 3: expected two times, a plan, a kernel and a target");
  EXPECT_TRUE(plans.all().empty());
  EXPECT_EQ(*plans.import_text(good), 1);
  EXPECT_EQ(plans.all().size(), 1u);
}

}  // namespace
}  // namespace doorbell::codegen
