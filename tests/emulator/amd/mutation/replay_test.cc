// A failure that a seed found can be had again: the same seed gives the same trace to the byte, the
// same broken rules and the same error.
#include <gtest/gtest.h>

#include "tests/emulator/amd/mutation/workload.h"

namespace doorbell::testing {
namespace {

// No wait for waves: whether it shows, and how, is chance.
class NoWaits final : public emu::amdgpu::PacketHook {
 public:
  Verdict packet(emu::amdgpu::QueueId, emu::amdgpu::QueueKind kind, unsigned,
                 std::vector<u32>& words) override {
    const bool taken = kind == emu::amdgpu::QueueKind::Sdma || (words[0] >> 8 & 0xff) != 0x46;
    return taken ? Verdict::Take : Verdict::Skip;
  }
};

struct Course {
  std::string trace;
  Outcome outcome;
};

Course follow(u64 seed, const WorkloadCode& code) {
  Course result;
  NoWaits hook;
  result.outcome = run_workload(
      {.seed = seed, .trace = [&](std::string_view line) { result.trace += line; }}, code, &hook);
  return result;
}

TEST(Replay, ASeededFailureRepeatsToTheByte) {
  const WorkloadCode code = *compile_workload("gfx1100");
  std::string other;
  int failures = 0;
  for (u64 seed = 1; seed <= 4; ++seed) {
    const Course first = follow(seed, code), second = follow(seed, code);
    ASSERT_GT(first.trace.size(), 1000u);
    failures += !first.outcome.clean();
    EXPECT_EQ(first.trace, second.trace) << "seed " << seed;
    EXPECT_EQ(first.outcome.error, second.outcome.error);
    EXPECT_EQ(first.outcome.broken, second.outcome.broken);
    EXPECT_EQ(first.outcome.wrong, second.outcome.wrong);
    EXPECT_NE(first.trace, other) << "another seed, another course";
    other = first.trace;
  }
  EXPECT_GT(failures, 0) << "nothing failed that could be repeated";
}

}  // namespace
}  // namespace doorbell::testing
