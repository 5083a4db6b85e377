// The probe on emulated GPUs: on one that is as the facts say all steps are ok, and a difference
// that is put between it and the driver is found by its step, with the fact that it contradicts.
#include "tools/amd_probe/probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/os/host.h"
#include "base/util/try.h"
#include "emulator/amd/cp/packet_hook.h"
#include "emulator/amd/machine.h"
#include "tests/tools/amd_probe/seeded.h"

namespace doorbell::tools {
namespace {

using ::testing::StartsWith;

struct EmulatedCard {
  std::unique_ptr<emu::amdgpu::Machine> machine;
  std::unique_ptr<os::Files> files;
  std::unique_ptr<os::Clock> clock;
  std::shared_ptr<amd::Kfd> kfd;

  explicit EmulatedCard(const std::string& gpu, Seeded* seeded = nullptr) {
    machine = *emu::amdgpu::Machine::create({.gpus = {gpu},
                                             .checks = seeded == nullptr ? "error" : "off",
                                             .silent_waves = true,
                                             .hook = seeded});
    files = machine->files(os::host_files());
    if (seeded != nullptr) files = seeded->wrap(std::move(files));
    clock = machine->clock(os::host_clock());
    if (seeded != nullptr) clock = seeded->wrap(std::move(clock));
    kfd = *amd::Kfd::open(*files, *clock, {.trap_registers = true});
  }
};

std::string lines_of(const std::vector<StepReport>& steps) {
  std::string text;
  for (const StepReport& step : steps) text += to_line(step) + "\n";
  return text;
}

// What a run without options does not try.
bool is_left_out(const StepReport& step) {
  const std::string text = step.outcome.text;
  return step.name == "largest copies" || text.find("only with --faults") != text.npos ||
         text == "XCCs have no L2 in common for this memory";
}

struct ProbeTest : ::testing::TestWithParam<const char*> {};

TEST_P(ProbeTest, FindsAGpuAsTheFactsSay) {
  EmulatedCard card(GetParam());
  std::vector<std::string> told;
  const std::vector<StepReport> steps =
      *run_probe(card.kfd, {.tell = [&](const StepReport& step) { told.push_back(step.name); }});
  EXPECT_EQ(told.size(), probe_steps().size());
  for (const StepReport& step : steps) {
    EXPECT_EQ(step.outcome.verdict, is_left_out(step) ? Verdict::NotTried : Verdict::Ok)
        << to_line(step);
  }
  EXPECT_EQ(card.machine->checks().errors(), 0u);
  for (const emu::Report& report : card.machine->checks().reports())
    ADD_FAILURE() << to_string(report);
}

INSTANTIATE_TEST_SUITE_P(Chips, ProbeTest,
                         ::testing::Values("gfx1100", "gfx942", "gfx1201", "gfx1030"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Probe, SaysWhichGpuThereIsNot) {
  EmulatedCard card("gfx1100");
  const auto steps = run_probe(card.kfd, {.gpu = 1});
  ASSERT_FALSE(steps);
  EXPECT_EQ(steps.error().message, "GPU index 1 out of range (1 present)");
}

// A record of one run is a golden for others, and a difference in what packets do shows.
TEST(Probe, RecordsAreGoldensForOtherRuns) {
  EmulatedCard first("gfx1100"), second("gfx1100");
  const nlohmann::json record = to_json(*run_probe(first.kfd, {}));
  const std::string text = record.dump();
  EXPECT_NE(text.find("RELEASE_MEM"), text.npos);
  EXPECT_NE(text.find("cell 0 is 0x1122334455667788"), text.npos);
  std::vector<StepReport> steps = *run_probe(second.kfd, {});
  EXPECT_EQ(compare(record, steps), std::vector<std::string>());
  std::ranges::find(steps, "copies", &StepReport::name)->outcome =
      differs(Fact::SdmaCounts, "1", "2");
  std::ranges::find(steps, "queues", &StepReport::name)->outcome = not_tried("why");
  std::ranges::find(steps, "PM4 signals", &StepReport::name)->trace.back() = "cell 4 is 0x2";
  const std::vector<std::string> differences = compare(record, steps);
  ASSERT_EQ(differences.size(), 2u);
  EXPECT_THAT(differences[0],
              StartsWith("PM4 signals: line 10 of its trace: recorded cell 4 is 0x1, here cell 4 "
                         "is 0x2; it tests docs/hw/amd-facts.md, \"Packets of compute: PM4\": "));
  EXPECT_EQ(differences[1],
            "copies: recorded ok, here differs; this contradicts docs/hw/amd-facts.md, \"SDMA\": "
            "counts of bytes of copies and fills are less one");
  // The fact that the other run found wrong.
  EXPECT_EQ(compare(to_json(steps), *run_probe(first.kfd, {})).back(),
            "copies: recorded differs, here ok; this contradicts docs/hw/amd-facts.md, \"SDMA\": "
            "counts of bytes of copies and fills are less one");
}

TEST(Probe, LeavesOutAtomicsThatTheLinkToTheHostLacks) {
  Seeded seeded;
  seeded.scale_property("flags", 13);  // 1: enabled; 4 and 8: no atomics of 32 and of 64 bits
  EmulatedCard card("gfx1100", &seeded);
  const std::vector<StepReport> steps = *run_probe(card.kfd, {});
  for (const StepReport& step : steps) {
    if (step.name == "host atomics") {
      EXPECT_EQ(step.outcome.text, "the link to the host has no atomics (flags 0xd)");
    } else {
      EXPECT_NE(step.outcome.verdict, Verdict::Differs) << to_line(step);
    }
  }
}

struct FaultsTest : ::testing::TestWithParam<const char*> {};

TEST_P(FaultsTest, AreReportedAndWorkGoesOn) {
  EmulatedCard card(GetParam());
  const std::vector<StepReport> steps =
      *run_probe(card.kfd, {.timeout_ns = 2'000'000'000, .faults = true, .in_other_process = [] {
                              return Result<bool>(true);
                            }});
  int faults = 0;
  for (const StepReport& step : steps) {
    for (const char* name : {"hang", "instruction", "memory fault", "afterwards"}) {
      if (step.name != name) continue;
      EXPECT_EQ(step.outcome.verdict, Verdict::Ok) << to_line(step);
      ++faults;
    }
  }
  EXPECT_EQ(faults, 4);
}

INSTANTIATE_TEST_SUITE_P(Chips, FaultsTest, ::testing::Values("gfx1100", "gfx942", "gfx1201"),
                         [](const auto& info) { return std::string(info.param); });

// ---- seeded differences -------------------------------------------------------------------------

struct Case {
  const char* name;
  const char* gpu;
  std::function<void(Seeded&)> seed;
  const char* step;
  Fact fact;
  const char* seen;  // a part of it
  bool faults = false;
};

struct SeededTest : ::testing::TestWithParam<Case> {};

TEST_P(SeededTest, IsFoundByItsStepWithItsFact) {
  const Case& wanted = GetParam();
  Seeded seeded;
  wanted.seed(seeded);
  EmulatedCard card(wanted.gpu, &seeded);
  const std::vector<StepReport> steps =
      *run_probe(card.kfd, {.timeout_ns = 1'000'000'000, .faults = wanted.faults});
  EXPECT_TRUE(seeded.happened()) << "the difference was never met";
  const StepReport* first = nullptr;
  for (const StepReport& step : steps)
    if (first == nullptr && step.outcome.verdict == Verdict::Differs) first = &step;
  ASSERT_NE(first, nullptr) << lines_of(steps);
  EXPECT_EQ(first->name, wanted.step) << lines_of(steps);
  EXPECT_EQ(first->outcome.difference->fact, wanted.fact) << lines_of(steps);
  EXPECT_NE(first->outcome.difference->seen.find(wanted.seen), std::string::npos)
      << lines_of(steps);
}

const Case kCases[] = {
    {"TwiceTheSimds", "gfx1100", [](Seeded& s) { s.scale_property("simd_count", 2); }, "topology",
     Fact::Counts, "192: 384 SIMDs"},
    {"OneSimdMore", "gfx942", [](Seeded& s) { s.scale_property("num_xcc", 3); }, "topology",
     Fact::Counts, "1216 SIMDs"},
    {"LdsInBytes", "gfx1201", [](Seeded& s) { s.scale_property("lds_size_in_kb", 2); }, "topology",
     Fact::Counts, "128"},
    {"SmallSaveArea", "gfx1100", [](Seeded& s) { s.scale_property("ctl_stack_size", 2); },
     "save area", Fact::SaveAreas, " and "},
    {"HalfARelease", "gfx1100", [](Seeded& s) { s.narrow_releases(); }, "PM4 signals",
     Fact::ReleaseData, "0x55667788"},
    {"AWaitThatPasses", "gfx1100", [](Seeded& s) { s.drop_pm4(0x3c); }, "PM4 signals",
     Fact::WaitRegMem, "the packets behind it ran"},
    {"ABarrierThatPasses", "gfx942", [](Seeded& s) { s.drop_aql_dependencies(); }, "AQL signals",
     Fact::AqlSignals, "it went on"},
    {"AFenceOfAnotherValue", "gfx1100", [](Seeded& s) { s.change_fences(1); }, "SDMA signals",
     Fact::SdmaFence, "0xdbdbdbdb89abcdee"},
    {"ATrapThatIsLost", "gfx1100", [](Seeded& s) { s.drop_sdma(6); }, "events", Fact::SdmaTrap,
     "timed out"},
    {"ASlowerClock", "gfx1100", [](Seeded& s) { s.scale_clock(1, 4); }, "clock",
     Fact::ClockCounters, " and "},
    {"AFasterClock", "gfx1100", [](Seeded& s) { s.scale_host_clock(2); }, "clock", Fact::ClockRate,
     ""},
    {"ACopyOfOneByteLess", "gfx1100", [](Seeded& s) { s.shorten_copies(1, 300); }, "copies",
     Fact::SdmaCounts, "0xdb"},
    {"ACountOf22Bits", "gfx1100", [](Seeded& s) { s.cut_copies(22); }, "copies", Fact::SdmaLargest,
     "0xdb"},
    {"AGridOfItems", "gfx1100", [](Seeded& s) { s.count_groups_as_items(); }, "kernels",
     Fact::DispatchCounts, "it did not run"},
    {"AGridOfGroups", "gfx942", [](Seeded& s) { s.count_groups_as_items(); }, "kernels",
     Fact::AqlGrids, "it did not run"},
    {"XccsThatShareScratch", "gfx942", [](Seeded& s) { s.share_scratch(); }, "scratch",
     Fact::ScratchOfXcc, " and 0x"},
    {"HalfTheLds", "gfx942", [](Seeded& s) { s.halve_local_memory(); }, "LDS", Fact::LdsSize, ""},
    {"ASavedPcThatIsFurtherOn", "gfx1100", [](Seeded& s) { s.move_saved_pc(8); }, "hang",
     Fact::SavedPc, "endless+0x", true},
    {"AFaultOnThePageBehind", "gfx1100", [](Seeded& s) { s.move_fault_address(4096); },
     "memory fault", Fact::FaultAddress, "6", true},
};

INSTANTIATE_TEST_SUITE_P(Differences, SeededTest, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace doorbell::tools
