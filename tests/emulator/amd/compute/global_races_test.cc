// Kernels whose groups race in memory, each with a twin that does not: that the race is found in
// several orders of groups and waves, that no other rule finds it, and that the twin is silent. The
// kernels are LLVM's text, so that what an atomic operation of a scope is comes from LLVM's code.
#include <gtest/gtest.h>

#include <map>

#include "emulator/amd/all_checks.h"
#include "emulator/amd/grid_launcher.h"
#include "tests/emulator/support/grid_barrier_kernel.h"
#include "tests/emulator/support/test_gpu.h"

namespace doorbell::emu::amdgpu {
namespace {

using testing::Arguments;
using testing::TestGpu;
using testing::TestKernel;

using Texts = std::vector<std::string>;

constexpr u64 kSeeds[] = {0, 1, 2, 3};
constexpr u32 kGroups = 4;

// Of kernel(u32* data, u32* flag): %group, %item, %leads (item 0), %first (group 0), %own and
// %next: this group's and the next one's first dword of `data`, 64 dwords apart.
constexpr const char* kHead = R"(
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare void @llvm.amdgcn.s.barrier()
define amdgpu_kernel void @kernel(ptr addrspace(1) %data, ptr addrspace(1) %flag) #0 {
entry:
  %item = call i32 @llvm.amdgcn.workitem.id.x()
  %group = call i32 @llvm.amdgcn.workgroup.id.x()
  %leads = icmp eq i32 %item, 0
  %first = icmp eq i32 %group, 0
  %ownrow = mul i32 %group, 64
  %owni = add i32 %ownrow, %item
  %own = getelementptr i32, ptr addrspace(1) %data, i32 %owni
  %group1 = add i32 %group, 1
  %nextgroup = and i32 %group1, 3
  %nextrow = mul i32 %nextgroup, 64
  %nexti = add i32 %nextrow, %item
  %next = getelementptr i32, ptr addrspace(1) %data, i32 %nexti
)";
constexpr const char* kTail = R"(
}
attributes #0 = { "amdgpu-flat-work-group-size"="1,256" "amdgpu-no-implicitarg-ptr" }
)";

class GlobalRacesTest : public ::testing::TestWithParam<const char*> {
 protected:
  Texts launch(const TestKernel& kernel, const testing::TestLaunch& shape,
               const Arguments& arguments, const std::string& levels, u64 seed) {
    Checks checks;
    EXPECT_TRUE(checks.configure(levels, all_checks()));
    GridLauncher launcher({.chip = &gpu.chip(),
                           .space = &gpu.space(),
                           .compute_units = {.count = 8},
                           .seed = seed,
                           .checks = &checks});
    const GridState state =
        launcher.launch(gpu.dispatch(kernel, shape, arguments), nullptr)->run(~u64{0});
    EXPECT_EQ(state, checks.errors() != 0 ? GridState::Failed : GridState::Done);
    Texts told;
    for (const Report& report : checks.reports()) told.push_back(to_string(report));
    return told;
  }
  Texts run(const std::string& body, const std::string& levels, u64 seed, u32 items = 32) {
    const auto [at, is_new] = kernels_.try_emplace(body);
    if (is_new) at->second = gpu.compile(kHead + body + kTail);
    return launch(at->second, {.groups = {kGroups, 1, 1}, .group_size = {items, 1, 1}},
                  Arguments().add(gpu.allocate(4096)).add(gpu.allocate(4096)), levels, seed);
  }
  // Found in every order, with this in the text; by no other rule.
  void expect_race(const std::string& body, std::string_view what, u32 items = 32) {
    for (const u64 seed : kSeeds) {
      SCOPED_TRACE(fmt::format("seed {}", seed));
      EXPECT_EQ(run(body, "error,AMD-LOAD=error,AMD-RACE-001=error", seed, items), Texts{});
      const Texts told = run(body, "error,AMD-RACE=error", seed, items);
      ASSERT_EQ(told.size(), 1u);
      EXPECT_TRUE(told[0].starts_with("error AMD-RACE-002: kernel at ")) << told[0];
      EXPECT_NE(told[0].find(what), told[0].npos) << told[0] << "\nhas no part " << what;
    }
  }
  void expect_none(const std::string& body, u32 items = 32) {
    for (const u64 seed : kSeeds) {
      SCOPED_TRACE(fmt::format("seed {}", seed));
      EXPECT_EQ(run(body, "error,AMD-LOAD=error,AMD-RACE=error", seed, items), Texts{});
    }
  }
  bool stores_have_scope() const {
    return gpu.chip().generation == Generation::Gfx9 || gpu.chip().generation == Generation::Gfx12;
  }

  TestGpu gpu{GetParam()};

 private:
  std::map<std::string, TestKernel> kernels_;
};

constexpr const char* kNothingOrders = "; no atomic operation at agent scope orders the groups";

TEST_P(GlobalRacesTest, AGroupReadsWhatAnotherWrote) {
  const std::string plain = R"(
  %other = getelementptr i32, ptr addrspace(1) %flag, i32 %owni
  store i32 %item, ptr addrspace(1) %own
  %value = load i32, ptr addrspace(1) WHERE
  store i32 %value, ptr addrspace(1) %other
  ret void
)";
  const auto from = [&](const char* where) {
    std::string text = plain;
    return text.replace(text.find("WHERE"), 5, where);
  };
  expect_race(from("%next"), kNothingOrders);
  expect_none(from("%own"));
}

// In the order of the groups: the one that reads is the last, and nobody writes behind it.
TEST_P(GlobalRacesTest, AGroupReadsPlainlyWhatAnotherCounted) {
  const auto body = [](const char* load) {
    return fmt::format(R"(
  br i1 %first, label %count, label %others
count:
  %before = atomicrmw add ptr addrspace(1) %flag, i32 1 syncscope("agent") monotonic
  br label %end
others:
  %last = icmp eq i32 %group, 3
  br i1 %last, label %read, label %end
read:
  %value = {}
  store i32 %value, ptr addrspace(1) %own
  br label %end
end:
  ret void
)",
                       load);
  };
  const Texts told = run(body("load i32, ptr addrspace(1) %flag"), "error,AMD-RACE=error", 0, 1);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told[0].find(kNothingOrders), told[0].npos) << told[0];
  expect_none(
      body("load atomic i32, ptr addrspace(1) %flag syncscope(\"agent\") monotonic, align 4"), 1);
}

// The report names both instructions, the other wave and its group.
TEST_P(GlobalRacesTest, AReportNamesBothAccesses) {
  const Texts told =
      run("store i32 %group, ptr addrspace(1) %data\n ret void", "off,AMD-RACE=warn", 0, 1);
  ASSERT_EQ(told.size(), 1u) << "each pair of instructions once";
  EXPECT_NE(told[0].find("group 1,0,0, wave 0, pc "), told[0].npos) << told[0];
  EXPECT_NE(told[0].find(": GLOBAL_STORE_"), told[0].npos) << told[0];
  EXPECT_NE(told[0].find(", which wave 0 of group 0,0,0 wrote by GLOBAL_STORE_"), told[0].npos)
      << told[0];
}

TEST_P(GlobalRacesTest, TwoGroupsWriteTheSameBytes) {
  expect_race("store i32 %group, ptr addrspace(1) %data\n ret void", "wrote by");
  expect_none("store i32 %group, ptr addrspace(1) %own\n ret void");
}

TEST_P(GlobalRacesTest, AGroupWritesWhatOthersHaveRead) {
  const auto body = [](const char* to) {
    return fmt::format(R"(
  %value = load i32, ptr addrspace(1) %data
  %to = getelementptr i32, ptr addrspace(1) %flag, i32 %owni
  store i32 %value, ptr addrspace(1) %to
  %last = icmp eq i32 %group, 3
  br i1 %last, label %write, label %end
write:
  store i32 5, ptr addrspace(1) {}
  br label %end
end:
  ret void
)",
                       to);
  };
  expect_race(body("%data"), "memory at ");
  expect_none(body("%to"));
}

TEST_P(GlobalRacesTest, BytesAreApart) {
  const auto body = [](const char* scale) {
    return fmt::format(R"(
  %at = mul i32 %group, {}
  %to = getelementptr i8, ptr addrspace(1) %data, i32 %at
  store i16 1, ptr addrspace(1) %to
  ret void
)",
                       scale);
  };
  expect_race(body("1"), "wrote by");
  expect_none(body("2"));
}

// One group reads a dword in whole, another writes a part of it.
TEST_P(GlobalRacesTest, APartOfADwordIsOfTheDword) {
  const auto body = [](u32 at) {
    return fmt::format(R"(
  br i1 %first, label %read, label %write
read:
  %whole = load i32, ptr addrspace(1) %data
  store i32 %whole, ptr addrspace(1) %flag
  br label %end
write:
  %to = getelementptr i8, ptr addrspace(1) %data, i32 {}
  %second = icmp eq i32 %group, 1
  br i1 %second, label %part, label %end
part:
  store i8 1, ptr addrspace(1) %to
  br label %end
end:
  ret void
)",
                       at);
  };
  expect_race(body(3), "memory at ");
  expect_none(body(4));
}

// ---- waves of a group

TEST_P(GlobalRacesTest, WavesOfAGroupAreOrderedByBarriers) {
  const auto exchange = [](const char* between) {
    return fmt::format(R"(
  %row = mul i32 %group, 128
  %mine0 = add i32 %row, %item
  %turned = xor i32 %item, 64
  %other0 = add i32 %row, %turned
  %mine = getelementptr i32, ptr addrspace(1) %data, i32 %mine0
  %other = getelementptr i32, ptr addrspace(1) %data, i32 %other0
  %to = getelementptr i32, ptr addrspace(1) %flag, i32 %mine0
  store i32 %item, ptr addrspace(1) %mine
  {}
  %value = load i32, ptr addrspace(1) %other
  store i32 %value, ptr addrspace(1) %to
  ret void
)",
                       between);
  };
  constexpr const char* kBarrier = R"(
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
)";
  expect_none(exchange(kBarrier), 128);
  expect_race(exchange(""), "; neither a barrier nor an atomic operation orders them", 128);
}

// ---- atomic operations

// Each group stores its part and counts; who is last adds all parts. LAST says who that is.
std::string split_reduction(const char* store_before, const char* count, const char* last,
                            const char* store_behind = "") {
  return fmt::format(R"(
  br i1 %leads, label %lead, label %end
lead:
  {}
  {}
  {}
  %last = icmp eq i32 {}, 3
  br i1 %last, label %add, label %end
add:
  %p1 = getelementptr i32, ptr addrspace(1) %data, i32 64
  %p2 = getelementptr i32, ptr addrspace(1) %data, i32 128
  %v0 = load i32, ptr addrspace(1) %data
  %v1 = load i32, ptr addrspace(1) %p1
  %v2 = load i32, ptr addrspace(1) %p2
  %s1 = add i32 %v0, %v1
  %s2 = add i32 %s1, %v2
  %sum = getelementptr i32, ptr addrspace(1) %flag, i32 16
  store i32 %s2, ptr addrspace(1) %sum
  br label %end
end:
  ret void
)",
                     store_before, count, store_behind, last);
}
constexpr const char* kPart = "store i32 %group, ptr addrspace(1) %own";
constexpr const char* kCounts =
    "%before = atomicrmw add ptr addrspace(1) %flag, i32 1 syncscope(\"agent\") acq_rel";

TEST_P(GlobalRacesTest, ACounterOrdersASplitReduction) {
  expect_none(split_reduction(kPart, kCounts, "%before"));
}

TEST_P(GlobalRacesTest, WhoDoesNotLookAtTheCounterIsBehindNothing) {
  expect_race(split_reduction(kPart, kCounts, "%group"), kNothingOrders);
}

TEST_P(GlobalRacesTest, WhatIsStoredBehindTheCountIsNotHandedOver) {
  expect_race(split_reduction("", kCounts, "%before", kPart), kNothingOrders);
}

TEST_P(GlobalRacesTest, ACounterElsewhereOrdersNothing) {
  constexpr const char* kElsewhere = R"(
  %c = getelementptr i32, ptr addrspace(1) %flag, i32 %group
  %zero = atomicrmw add ptr addrspace(1) %c, i32 1 syncscope("agent") acq_rel
  %before = add i32 %zero, %group
)";
  expect_race(split_reduction(kPart, kElsewhere, "%before"), kNothingOrders);
}

TEST_P(GlobalRacesTest, AtomicOperationsDoNotRaceWithEachOther) {
  constexpr const char* kAdd =
      "%ignored = atomicrmw add ptr addrspace(1) %flag, i32 1 syncscope(\"agent\") monotonic\n";
  expect_none(fmt::format("{} ret void", kAdd));
  // But with plain accesses: each group adds and then looks.
  expect_race(fmt::format("{} %v = load i32, ptr addrspace(1) %flag\n"
                          "store i32 %v, ptr addrspace(1) %own\n ret void",
                          kAdd),
              " by ");
}

// ---- flags

std::string handed_over(const char* before, const char* behind, const char* poll) {
  return fmt::format(R"(
  %second = icmp eq i32 %group, 1
  br i1 %first, label %give, label %other
give:
  {}
  store atomic i32 1, ptr addrspace(1) %flag syncscope("agent") release, align 4
  {}
  br label %end
other:
  br i1 %second, label %wait, label %end
wait:
  %there = load atomic i32, ptr addrspace(1) %flag syncscope("agent") acquire, align 4
  %early = icmp eq i32 %there, {}
  br i1 %early, label %wait, label %take
take:
  %from = getelementptr i32, ptr addrspace(1) %data, i32 %item
  %value = load i32, ptr addrspace(1) %from
  store i32 %value, ptr addrspace(1) %own
  br label %end
end:
  ret void
)",
                     before, behind, poll);
}

TEST_P(GlobalRacesTest, AFlagThatIsPolledHandsOver) {
  expect_none(handed_over("store i32 %item, ptr addrspace(1) %own", "", "0"));
}

TEST_P(GlobalRacesTest, WhatIsStoredBehindTheFlagIsNotHandedOver) {
  expect_race(handed_over("", "store i32 %item, ptr addrspace(1) %own", "0"), kNothingOrders);
}

// A counter that is polled by loads, as a barrier of the whole grid does.
TEST_P(GlobalRacesTest, ABarrierOfTheGridOrdersAllGroups) {
  const auto told = [&](const TestKernel& kernel, u64 seed) {
    constexpr u32 kPhases = 3;
    return launch(kernel,
                  {.groups = {kGroups, 1, 1}, .group_size = {testing::kGridBarrierItems, 1, 1}},
                  Arguments()
                      .add(gpu.allocate(4))
                      .add(gpu.allocate(kGroups * kPhases * 4))
                      .add(gpu.allocate(kGroups * 4))
                      .add(i64{kGroups})
                      .add(i64{kPhases}),
                  "error,AMD-LOAD=error,AMD-RACE=error", seed);
  };
  std::string broken = testing::kGridBarrier;
  constexpr std::string_view kPoll = "br i1 %early, label %wait, label %go";
  broken.replace(broken.find(kPoll), kPoll.size(), "br label %go");
  const TestKernel whole = gpu.compile(testing::kGridBarrier), hasty = gpu.compile(broken);
  for (const u64 seed : kSeeds) {
    SCOPED_TRACE(seed);
    EXPECT_EQ(told(whole, seed), Texts{});
    ASSERT_EQ(told(hasty, seed).size(), 1u);
  }
}

// A lock: whoever has it changes plain memory, and gives it back by an atomic store: behind that,
// or too early.
std::string locked(const char* take, const char* give, const char* give_early = "") {
  return fmt::format(R"(
  br i1 %leads, label %lock, label %end
lock:
  {}
critical:
  {}
  %value = load i32, ptr addrspace(1) %data
  %more = add i32 %value, 1
  store i32 %more, ptr addrspace(1) %data
  {}
  br label %end
end:
  ret void
)",
                     take, give_early, give);
}

TEST_P(GlobalRacesTest, ALockOrdersItsHolders) {
  constexpr const char* kTake = R"(
  %pair = cmpxchg ptr addrspace(1) %flag, i32 0, i32 1 syncscope("agent") acquire monotonic
  %won = extractvalue { i32, i1 } %pair, 1
  br i1 %won, label %critical, label %lock
)";
  constexpr const char* kGive =
      "store atomic i32 0, ptr addrspace(1) %flag syncscope(\"agent\") release, align 4";
  expect_none(locked(kTake, kGive));
  expect_race(locked("br label %critical", ""), kNothingOrders);
  expect_race(locked(kTake, "", kGive), kNothingOrders);
}

// While others try to take it: the store that gives it back does not race with their attempts, a
// plain one on gfx10 and gfx11 neither.
TEST_P(GlobalRacesTest, ALockIsGivenBackWhileOthersTryToTakeIt) {
  expect_none(locked(R"(
  %pair = cmpxchg ptr addrspace(1) %flag, i32 0, i32 1 syncscope("agent") acquire monotonic
  %won = extractvalue { i32, i1 } %pair, 1
  br i1 %won, label %hold, label %lock
hold:
  %turn = phi i32 [ 0, %lock ], [ %turned, %hold ]
  %turned = add i32 %turn, 1
  call void asm sideeffect "s_nop 0", ""()
  %held = icmp eq i32 %turned, 300
  br i1 %held, label %critical, label %hold
)",
                     "store atomic i32 0, ptr addrspace(1) %flag syncscope(\"agent\") release, "
                     "align 4"));
}

std::string chip_name(const ::testing::TestParamInfo<const char*>& info) { return info.param; }
INSTANTIATE_TEST_SUITE_P(Chips, GlobalRacesTest,
                         ::testing::Values("gfx1030", "gfx1100", "gfx1201", "gfx942", "gfx950"),
                         chip_name);

// ---- scopes, where instructions have them

using GlobalRacesByScope = GlobalRacesTest;

// Stores on these chips say that they are atomic.
TEST_P(GlobalRacesByScope, AFlagThatIsStoredPlainlyIsARace) {
  std::string plain = handed_over("store i32 %item, ptr addrspace(1) %own", "", "0");
  constexpr std::string_view kStore =
      "store atomic i32 1, ptr addrspace(1) %flag syncscope(\"agent\") release, align 4";
  plain.replace(plain.find(kStore), kStore.size(), "store i32 1, ptr addrspace(1) %flag");
  expect_race(plain, "memory at ");
}

INSTANTIATE_TEST_SUITE_P(Chips, GlobalRacesByScope,
                         ::testing::Values("gfx1201", "gfx942", "gfx950"), chip_name);

using GlobalRacesOfGroups = GlobalRacesTest;

TEST_P(GlobalRacesOfGroups, AnAtomicOperationOfTheGroupOrdersNoOthers) {
  std::string narrow = kCounts;
  narrow.replace(narrow.find("agent"), 5, "workgroup");
  expect_race(split_reduction(kPart, narrow.c_str(), "%before"), kNothingOrders);
}

INSTANTIATE_TEST_SUITE_P(Chips, GlobalRacesOfGroups, ::testing::Values("gfx1201"), chip_name);

}  // namespace
}  // namespace doorbell::emu::amdgpu
