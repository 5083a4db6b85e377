// From the facts of several machines to what plans use and where threads run.
#include "runtime/machine.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "base/os/host.h"
#include "tests/support/fake_cpus.h"

namespace doorbell::runtime {
namespace {

Machine machine_of(const testing::FakeMachine& fake) {
  testing::FakeSystem system;
  testing::add_cpus(system.files, fake);
  return find_machine(system.system, {}, nullptr);
}

codegen::Caps refined(const Machine& machine, int vector_bytes) {
  codegen::Caps caps;
  caps.vector_bytes = vector_bytes;
  refine(machine, &caps);
  return caps;
}

TEST(MachineTest, WithoutFactsCapsStayAsTheyAre) {
  testing::FakeSystem system;
  const Machine nothing = find_machine(system.system, {}, nullptr);
  const codegen::Caps caps = refined(nothing, 32);
  EXPECT_EQ(caps.l1_bytes, 32 << 10);
  EXPECT_EQ(caps.core.fma_in_flight, 8);
  EXPECT_EQ(describe(nothing), "  the system lists no processors\n");
  EXPECT_EQ(place_workers(nothing.topology, {}, 3).threads, 3);
}

TEST(MachineTest, CapsHaveTheCachesOfAFastCore) {
  EXPECT_EQ(refined(machine_of(testing::zen5()), 64).l1_bytes, 48 << 10);
  EXPECT_EQ(refined(machine_of(testing::alder_lake()), 32).l2_bytes, 1280 << 10);
  EXPECT_EQ(refined(machine_of(testing::haswell()), 32).l2_bytes, 256 << 10);
  EXPECT_EQ(refined(machine_of(testing::rk3588()), 16).l2_bytes, 512 << 10);
}

// Zen 4 splits wide registers: one a cycle, of 4 cycles.
TEST(MachineTest, CapsHaveTheSpeedsOfTheirWidth) {
  Machine zen4 = machine_of(testing::zen4());
  zen4.speed = cpu::CoreSpeed{
      .narrow = {.each_ns = 0.135, .chain_ns = 1.08}, .wide = {0.27, 1.08}, .memory = 38.5};
  EXPECT_EQ(refined(zen4, 64).core.fma_in_flight, 4);
  EXPECT_EQ(refined(zen4, 64).core.far_load, 6);  // 64 bytes / 38.5 / 0.27
  EXPECT_EQ(refined(zen4, 32).core.fma_in_flight, 8);
  EXPECT_EQ(refined(zen4, 64).vector_bytes, 64);
}

TEST(MachineTest, NarrowVectorsWhereWideOnesAreSlower) {
  Machine xeon = machine_of(testing::cascade_lake());
  // One port for wide registers, and a clock that drops by a fourth.
  xeon.speed = cpu::CoreSpeed{.narrow = {.each_ns = 0.16, .chain_ns = 1.3}, .wide = {0.43, 1.7}};
  EXPECT_EQ(refined(xeon, 64).vector_bytes, 32);
  EXPECT_EQ(refined(xeon, 64).core.fma_in_flight, 8);
  xeon.speed->wide = {.each_ns = 0.2, .chain_ns = 1.6};  // two ports
  EXPECT_EQ(refined(xeon, 64).vector_bytes, 64);
}

TEST(MachineTest, WorkersGoToCores) {
  using Cpus = std::vector<int>;
  const os::CpuTopology xeon = machine_of(testing::cascade_lake()).topology;
  const Workers all = place_workers(xeon, {}, 0);
  EXPECT_EQ(all.threads, 20);
  ASSERT_EQ(all.cpus.cores.size(), 20u);
  EXPECT_EQ(all.cpus.cores.back(), (Cpus{19, 39}));
  const Workers two = place_workers(xeon, {0, 1, 20, 21}, 0);
  EXPECT_EQ(two.threads, 2);
  EXPECT_EQ(two.cpus.cores, (std::vector<Cpus>{{0, 20}, {1, 21}}));
  // Fewer than there are cores are not bound each to one, where others may be.
  const Workers few = place_workers(xeon, {0, 1, 2, 20, 21, 22}, 2);
  EXPECT_TRUE(few.cpus.cores.empty());
  EXPECT_EQ(few.cpus.shared, (Cpus{0, 1, 2}));
  // Who asks for more gets siblings too, wherever the system puts them.
  EXPECT_EQ(place_workers(xeon, {0, 1, 20, 21}, 4).threads, 4);
  EXPECT_TRUE(place_workers(xeon, {0, 1, 20, 21}, 4).cpus.cores.empty());
  EXPECT_TRUE(place_workers(xeon, {0, 1, 20, 21}, 4).cpus.shared.empty());
  // Cores without siblings.
  const os::CpuTopology zen4 = machine_of(testing::zen4()).topology;
  EXPECT_EQ(place_workers(zen4, {}, 0).threads, 8);
  EXPECT_EQ(place_workers(zen4, {2, 5}, 0).cpus.cores, (std::vector<Cpus>{{2}, {5}}));
  EXPECT_TRUE(place_workers(zen4, {}, 4).cpus.cores.empty());
  EXPECT_TRUE(place_workers(zen4, {}, 4).cpus.shared.empty());
  // A single thread is the caller.
  EXPECT_TRUE(place_workers(zen4, {5}, 0).cpus.cores.empty());
  EXPECT_EQ(place_workers(machine_of(testing::alder_lake()).topology, {}, 0).threads, 16);
}

int g_measured;  // times that a loop ran: loops are plain functions
testing::FakeClock* g_clock;

TEST(MachineTest, MeasuresOnceForACache) {
  std::string folder = "/tmp/doorbell_machine_XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  testing::FakeSystem system;
  testing::add_cpus(system.files, testing::zen4());
  g_measured = 0, g_clock = &system.clock;
  cpu::SpeedLoops loops;
  loops.add = [](i64 count) { ++g_measured, g_clock->time_ns += static_cast<u64>(count); };
  for (int process = 0; process < 2; ++process) {
    codegen::DiskTable kept(os::host_files(), {folder + "/machine.db", "speeds", "facts"});
    const Machine machine = find_machine(system.system, loops, &kept);
    ASSERT_TRUE(machine.speed);
    EXPECT_NEAR(machine.speed->add_ns, 1, 1e-9);
    EXPECT_EQ(g_measured, 7);
  }
  // Another processor is another machine.
  testing::add_cpus(system.files, testing::zen5());
  codegen::DiskTable kept(os::host_files(), {folder + "/machine.db", "speeds", "facts"});
  find_machine(system.system, loops, &kept);
  EXPECT_EQ(g_measured, 14);
  std::filesystem::remove_all(folder);
}

TEST(MachineTest, IsDescribedForPeople) {
  Machine hybrid = machine_of(testing::alder_lake());
  EXPECT_EQ(describe(hybrid),
            "  12th Gen Intel(R) Core(TM) i9-12900K: 16 cores, 24 hardware threads\n"
            "  8 cores: L1 48 KiB, L2 1280 KiB, L3 30 MiB for 16 cores\n"
            "  8 cores: L1 32 KiB, L2 2 MiB for 4 cores, L3 30 MiB for 16 cores\n"
            "  instructions: avx2 fma avx_vnni\n"
            "  speeds are not measured without a cache on disk\n");
}

}  // namespace
}  // namespace doorbell::runtime
