// Each argument of the driver's ioctls and each field of its amd_queue_t, changed: caught by the
// kernel's refusal, a broken rule, a fault, a hang or a wrong result; or in door_survivors.txt.
#include <exception>
#include <utility>

#include <gtest/gtest.h>

#include "tests/emulator/amd/mutation/door_mutants.h"
#include "tests/emulator/amd/mutation/survivors.h"
#include "tests/emulator/amd/mutation/workload.h"

namespace doorbell::testing {
namespace {

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
  Survivors survivors("door_survivors.txt");
  constexpr std::pair<const char*, bool> kConfigurations[] = {
      {"gfx1100", false}, {"gfx942", true}, {"gfx1030", true}};
  for (const auto& [chip, aql] : kConfigurations) {
    const auto code = compile_workload(chip);
    ASSERT_TRUE(code) << to_string(code.error());
    Door recording(nullptr);
    const Outcome clean = run_through(recording, chip, aql, *code);
    ASSERT_TRUE(clean.clean()) << clean.why();
    usize caught = 0;
    for (const DoorMutant& mutant : recording.mutants()) {
      const std::string where = std::string(chip) + (aql ? "_aql" : "_pm4");
      const bool listed = survivors.name(where, mutant.name());
      Door door(&mutant);
      const bool shows = !run_through(door, chip, aql, *code).clean();
      EXPECT_TRUE(door.happened()) << where << ' ' << mutant.name();
      EXPECT_TRUE(shows || listed) << where << ' ' << mutant.name() << " survives";
      EXPECT_FALSE(shows && listed) << where << ' ' << mutant.name() << " is caught";
      caught += shows ? 1 : 0;
    }
    EXPECT_GT(caught, 30u) << chip;
  }
  survivors.expect_all_named();
}

}  // namespace
}  // namespace doorbell::testing
