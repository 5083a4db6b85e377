// What is made of the files that describe processors, and of files that do not.
#include "base/os/cpu_topology.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "base/os/affinity.h"
#include "base/os/host.h"
#include "tests/support/fake_cpus.h"

namespace doorbell::os {
namespace {

CpuTopology read(const testing::FakeMachine& machine) {
  testing::FakeFiles files;
  testing::add_cpus(files, machine);
  Result<CpuTopology> topology = read_cpu_topology(files);
  EXPECT_TRUE(topology) << topology.error().message;
  return topology ? *topology : CpuTopology{};
}

using Numbers = std::vector<int>;

TEST(CpuListTest, RefusesWhatIsNoList) {
  for (const char* text : {"x", "3-", "3-1", "-1", "1 2", "0-99999999"}) {
    const Result<Numbers> list = parse_cpu_list(text);
    ASSERT_FALSE(list) << text;
    EXPECT_EQ(list.error().message, "'" + std::string(text) + "' is no list of CPUs");
  }
}

TEST(CpuListTest, ReadsRangesAndNumbers) {
  EXPECT_EQ(*parse_cpu_list("0-3,8,10-11\n"), (Numbers{0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(*parse_cpu_list(" \n"), Numbers());
}

TEST(CpuTopologyTest, FailsWithoutAListOfCpus) {
  testing::FakeFiles files;
  EXPECT_EQ(read_cpu_topology(files).error().message,
            "/sys/devices/system/cpu/online names no CPU");
  files.add("/sys/devices/system/cpu/online", "all\n");
  EXPECT_EQ(read_cpu_topology(files).error().message,
            "/sys/devices/system/cpu/online: 'all' is no list of CPUs");
}

TEST(CpuTopologyTest, LeavesOutWhatIsMissingOrOdd) {
  testing::FakeFiles files;
  files.add("/sys/devices/system/cpu/online", "0,2\n");
  files.add("/sys/devices/system/cpu/cpu0/cache/index0/level", "one\n");
  files.add("/sys/devices/system/cpu/cpu0/cache/index0/size", "many\n");
  files.add("/sys/devices/system/cpu/cpu2/topology/thread_siblings_list", "1-2\n");
  const Result<CpuTopology> topology = read_cpu_topology(files);
  ASSERT_TRUE(topology) << topology.error().message;
  EXPECT_EQ(topology->cores(), 2);
  EXPECT_EQ(topology->cpus[1].core, 2);  // its sibling is offline
  EXPECT_EQ(topology->kinds[0].cache_bytes(1, 77), 77);
  EXPECT_EQ(topology->model, "");
}

TEST(CpuTopologyTest, Zen4HasCoresWithoutSiblings) {
  const CpuTopology zen4 = read(testing::zen4());
  EXPECT_EQ(zen4.model, "AMD EPYC 9B14");
  EXPECT_EQ(zen4.cores(), 8);
  ASSERT_EQ(zen4.kinds.size(), 1u);
  EXPECT_EQ(zen4.kinds[0].caches.size(), 3u);  // none of instructions
  EXPECT_EQ(zen4.kinds[0].cache_bytes(1, 0), 32 << 10);
  EXPECT_EQ(zen4.kinds[0].cache_bytes(2, 0), 1 << 20);
  EXPECT_EQ(zen4.kinds[0].cache_bytes(3, 0), 4 << 20);  // an eighth
  EXPECT_TRUE(zen4.has("avx512_bf16"));
  EXPECT_FALSE(zen4.has("avx512"));
  EXPECT_EQ(zen4.placement({}), (Numbers{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(CpuTopologyTest, Zen5CountsSiblingsOnce) {
  const CpuTopology zen5 = read(testing::zen5());
  EXPECT_EQ(zen5.cores(), 8);
  EXPECT_EQ(zen5.cpus.size(), 16u);
  EXPECT_EQ(zen5.kinds[0].cache_bytes(1, 0), 48 << 10);
  EXPECT_EQ(zen5.kinds[0].cache_bytes(2, 0), 1 << 20);  // two threads, one core
  EXPECT_EQ(zen5.kinds[0].cache_bytes(3, 0), 4 << 20);
}

TEST(CpuTopologyTest, CascadeLakePlacesThreadsOnCoresFirst) {
  const CpuTopology xeon = read(testing::cascade_lake());
  EXPECT_EQ(xeon.cores(), 20);
  EXPECT_EQ(xeon.cpus[20].core, 0);
  // What a container may use: two cores, both threads of each, and one thread of a third.
  const Numbers allowed{3, 4, 23, 24, 27};
  EXPECT_EQ(xeon.placement(allowed), (Numbers{3, 4, 27, 23, 24}));
  EXPECT_EQ(xeon.cores_of(allowed), 3);
  EXPECT_EQ(xeon.cpus_of_cores(allowed), (std::vector<Numbers>{{3, 23}, {4, 24}, {27}}));
}

TEST(CpuTopologyTest, AlderLakePlacesFastCoresFirst) {
  const CpuTopology hybrid = read(testing::alder_lake());
  ASSERT_EQ(hybrid.kinds.size(), 2u);
  EXPECT_EQ(hybrid.kinds[0].cores, 8);
  EXPECT_EQ(hybrid.kinds[0].cache_bytes(2, 0), 1280 << 10);
  EXPECT_EQ(hybrid.kinds[1].cache_bytes(2, 0), 512 << 10);  // a fourth
  EXPECT_EQ(hybrid.cores(), 16);
  EXPECT_EQ(hybrid.placement({}), (Numbers{0,  2,  4,  6,  8, 10, 12, 14, 16, 17, 18, 19,
                                           20, 21, 22, 23, 1, 3,  5,  7,  9,  11, 13, 15}));
}

TEST(CpuTopologyTest, HaswellHasNoAvx512) {
  const CpuTopology haswell = read(testing::haswell());
  EXPECT_TRUE(haswell.has("avx2"));
  EXPECT_FALSE(haswell.has("avx512f"));
  EXPECT_EQ(haswell.kinds[0].cache_bytes(2, 0), 256 << 10);
}

TEST(CpuTopologyTest, Rk3588PlacesFastCoresFirst) {
  const CpuTopology arm = read(testing::rk3588());
  EXPECT_EQ(arm.model, "implementer 0x41, part 0xd05");
  EXPECT_TRUE(arm.has("asimddp"));
  ASSERT_EQ(arm.kinds.size(), 2u);
  EXPECT_EQ(arm.kinds[0].capacity, 1024);
  EXPECT_EQ(arm.kinds[0].cache_bytes(1, 0), 64 << 10);
  EXPECT_EQ(arm.placement({}), (Numbers{4, 5, 6, 7, 0, 1, 2, 3}));
}

TEST(AffinityTest, RestrictsAThread) {
  const Numbers before = allowed_cpus();
  if (before.empty()) GTEST_SKIP() << "this system does not say where threads may run";
  std::atomic<bool> is_restricted = false;
  Numbers seen;
  int cpu = -1;
  std::thread thread([&] {
    is_restricted.wait(false);
    seen = allowed_cpus(), cpu = current_cpu();
  });
  restrict_thread(thread, {&before.back(), 1});
  is_restricted = true;
  is_restricted.notify_one();
  thread.join();
  EXPECT_EQ(seen, Numbers{before.back()});
  EXPECT_EQ(cpu, before.back());
  EXPECT_EQ(allowed_cpus(), before);
}

}  // namespace
}  // namespace doorbell::os
