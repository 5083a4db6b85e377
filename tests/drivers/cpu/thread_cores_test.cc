// Who moves when the caller turns up on a core.
#include "drivers/cpu/thread_cores.h"

#include <gtest/gtest.h>

namespace doorbell::cpu {
namespace {

using Cpus = std::vector<int>;

Cpus cpus_of(const ThreadCores& cores, usize worker) {
  const std::span<const int> found = cores.of_worker(worker);
  return {found.begin(), found.end()};
}

TEST(ThreadCores, NobodyMovesWithoutCores) {
  ThreadCores none;
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.make_room(0), std::nullopt);
}

TEST(ThreadCores, TheWorkerOfTheCallersCoreMoves) {
  ThreadCores cores({{0}, {1}, {2}});
  EXPECT_EQ(cores.make_room(0), std::nullopt);  // the caller's already
  EXPECT_EQ(cores.make_room(2), 1u);
  EXPECT_EQ(cpus_of(cores, 1), Cpus{0});
  EXPECT_EQ(cpus_of(cores, 0), Cpus{1});
  EXPECT_EQ(cores.make_room(2), std::nullopt);
  EXPECT_EQ(cores.make_room(0), 1u);  // and back
  EXPECT_EQ(cpus_of(cores, 1), Cpus{2});
  EXPECT_EQ(cores.make_room(1), 0u);
  EXPECT_EQ(cpus_of(cores, 0), Cpus{0});
}

// A sibling of a worker's CPU shares its multipliers.
TEST(ThreadCores, SiblingsAreOneCore) {
  ThreadCores cores({{0, 2}, {1, 3}});
  EXPECT_EQ(cores.make_room(2), std::nullopt);
  EXPECT_EQ(cores.make_room(3), 0u);
  EXPECT_EQ(cpus_of(cores, 0), (Cpus{0, 2}));
}

// The program may have moved its thread out of what the process had when the pool was made.
TEST(ThreadCores, OtherCpusAreNobodys) {
  ThreadCores cores({{1}, {3}});
  for (int cpu : {-1, 0, 2, 4, 1000}) EXPECT_EQ(cores.make_room(cpu), std::nullopt) << cpu;
}

}  // namespace
}  // namespace doorbell::cpu
