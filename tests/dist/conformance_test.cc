// The group `distributed` of the suite: a process that finds something wrong is heard by all, and a
// case that one process cannot run is run by none.
#include "conformance/run.h"
#include "tensor/engine/realize.h"
#include "tests/dist/support.h"

namespace doorbell::test {
namespace {

using conformance::Report;
using conformance::Suite;
using conformance::Target;
using conformance::Trial;

Report report_of(const Suite& suite) {
  Target target;
  target.device = &engine::device();
  const Result<std::vector<conformance::Batch>> batches = conformance::choose(suite, {});
  EXPECT_TRUE(batches);
  return conformance::run(*batches, target, {});
}

bool is_last() { return dist::rank() == dist::world_size() - 1; }

TEST(DistributedConformance, AllHearOfAFailure) {
  int runs = 0;
  Suite suite;
  suite.add("distributed/made").add("fails", [&](Trial& trial) {
    ++runs;
    trial.require(!is_last(), "this process finds something");
  });
  const Report report = report_of(suite);
  EXPECT_EQ(report.failed, is_last() ? 1 : 0);
  EXPECT_EQ(report.failed_elsewhere, is_last() ? 0 : 1);
  EXPECT_EQ(runs, 1);  // again would need the others
}

TEST(DistributedConformance, WhatOneLacksNoneRuns) {
  int runs = 0;
  Suite suite;
  // The target declares no dtype at all.
  suite.add("distributed/made")
      .add("needs", is_last() ? conformance::Needs{.dtypes = {dtypes::f64}} : conformance::Needs{},
           [&](Trial&) { ++runs; });
  const Report report = report_of(suite);
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(report.skipped, 1);
  EXPECT_EQ(report.failed + report.failed_elsewhere, 0);
}

}  // namespace
}  // namespace doorbell::test
