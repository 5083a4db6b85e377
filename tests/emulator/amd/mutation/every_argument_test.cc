// Each argument of the driver's ioctls and each field of its amd_queue_t, changed: caught by the
// kernel's refusal, a broken rule, a fault, a hang or a wrong result; or in door_survivors.txt.
#include <exception>
#include <utility>

#include <gtest/gtest.h>

#include "tests/emulator/amd/mutation/door_mutants.h"
#include "tests/emulator/amd/mutation/workload.h"
#include "tests/emulator/mutation/score.h"

namespace doorbell::testing {
namespace {

constexpr unsigned kLeastPercent = 61;

Outcome run_through(Door& door, const char* chip, bool aql, const WorkloadCode& code) {
  Workload workload{.chip = chip, .aql = aql};
  workload.wrap = [&](std::unique_ptr<os::Files> files) { return door.wrap(std::move(files)); };
  try {
    return run_workload(workload, code, nullptr);
  } catch (const std::exception& error) {  // an answer that no kernel gives
    return {.error = error.what()};
  }
}

TEST(Mutants, OfArgumentsAreCaught) {
  Score score("AMD's calls", "amd/mutation/door_survivors.txt", 1);
  constexpr std::pair<const char*, bool> kConfigurations[] = {
      {"gfx1100", false}, {"gfx942", true}, {"gfx1030", true}};
  for (const auto& [chip, aql] : kConfigurations) {
    const auto code = compile_workload(chip);
    ASSERT_TRUE(code) << to_string(code.error());
    Door recording(nullptr);
    const Outcome clean = run_through(recording, chip, aql, *code);
    ASSERT_TRUE(clean.clean()) << clean.why();
    usize caught = 0;
    const std::string where = std::string(chip) + (aql ? "_aql" : "_pm4");
    for (const DoorMutant& mutant : recording.mutants())
      score.take({"argument", where, mutant.name()}, [&](bool) {
        Door door(&mutant);
        const bool shows = !run_through(door, chip, aql, *code).clean();
        EXPECT_TRUE(door.happened()) << where << ' ' << mutant.name();
        caught += shows;
        return shows;
      });
    if (score.tries_all()) {
      EXPECT_GT(caught, 30u) << chip;
    }
  }
  score.tell(kLeastPercent);
}

}  // namespace
}  // namespace doorbell::testing
