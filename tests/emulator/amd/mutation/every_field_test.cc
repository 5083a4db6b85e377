// The run without mutants is clean, and each mutant of it is caught: by a rule that the emulator
// saw broken, by an error of the driver (a fault, a hang), or by a wrong result. Those that are not
// are in survivors.txt, each with the reason, and no other.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/emulator/amd/mutation/field_mutants.h"
#include "tests/emulator/amd/mutation/workload.h"
#include "tests/emulator/mutation/score.h"

namespace doorbell::testing {
namespace {

struct Configuration {
  const char* chip;
  amd::hw::Generation generation;
  bool aql;
};

std::string name_of(const Configuration& one) {
  return std::string(one.chip) + (one.aql ? "_aql" : "_pm4");
}

constexpr Configuration kConfigurations[] = {
    {"gfx1100", amd::hw::Generation::Gfx11, false}, {"gfx942", amd::hw::Generation::Gfx9, false},
    {"gfx1030", amd::hw::Generation::Gfx10, false}, {"gfx1201", amd::hw::Generation::Gfx12, false},
    {"gfx1100", amd::hw::Generation::Gfx11, true},  {"gfx942", amd::hw::Generation::Gfx9, true},
    {"gfx1030", amd::hw::Generation::Gfx10, true},  {"gfx1201", amd::hw::Generation::Gfx12, true},
};

TEST(Mutants, TheRunItselfIsClean) {
  for (const Configuration& one : kConfigurations)
    for (bool adversarial : {false, true}) {
      auto code = compile_workload(one.chip);
      ASSERT_TRUE(code) << to_string(code.error());
      std::string lines;
      Workload workload{.chip = one.chip, .aql = one.aql, .adversarial = adversarial};
      workload.trace = [&](std::string_view line) { lines += line; };
      const Outcome outcome = run_workload(workload, *code, nullptr);
      EXPECT_TRUE(outcome.clean())
          << name_of(one) << (adversarial ? " adversarial: " : ": ") << outcome.why() << "\n"
          << lines.substr(lines.size() - std::min<usize>(lines.size(), 1500));
    }
}

constexpr unsigned kLeastPercent = 62;

// Whether waves are late enough to show a missing wait is a matter of luck.
constexpr u64 kSeeds = 40;

// Whether any seed shows the mutant.
bool is_caught(const Configuration& one, const WorkloadCode& code, const Mutant& mutant,
               u64 seeds) {
  Workload workload{.chip = one.chip, .aql = one.aql};
  for (u64 seed = 1; seed <= seeds; ++seed) {
    Mutation mutation(mutant, one.generation);
    workload.seed = seed;
    if (!run_workload(workload, code, &mutation).clean()) return true;
    EXPECT_TRUE(mutation.happened() || seed > 1) << name_of(one) << ' ' << mutant.name();
  }
  return false;
}

std::string mutation_of(const Mutant& mutant) {
  if (mutant.drop) return "drop";
  return mutant.is_doorbell ? "doorbell" : "field";
}

void take_all(const Configuration& one, Score& score) {
  auto code = compile_workload(one.chip);
  ASSERT_TRUE(code) << to_string(code.error());
  Recording recording;
  ASSERT_TRUE(run_workload({.chip = one.chip, .aql = one.aql}, *code, &recording).clean());
  usize caught = 0;
  for (const Mutant& mutant : mutants_of(recording.passed(), one.generation))
    score.take({mutation_of(mutant), name_of(one), mutant.name()}, [&](bool listed) {
      const bool shows = is_caught(one, *code, mutant, listed ? 1 : kSeeds);
      caught += shows;
      return shows;
    });
  // So that a workload which does nothing is no success.
  if (score.tries_all()) {
    EXPECT_GT(caught, 80u) << name_of(one);
  }
}

TEST(Mutants, AreCaught) {
  Score score("AMD's submissions", "amd/mutation/survivors.txt", 1);
  for (const Configuration& one : kConfigurations) take_all(one, score);
  score.tell(kLeastPercent);
}

}  // namespace
}  // namespace doorbell::testing
