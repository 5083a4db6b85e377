// Each mutant is caught: by the kernel's refusal, a broken rule, a fault, a hang or a wrong result;
// or is in a list of survivors with the reason. A run tries a sample (mutation/score.h).
#include <gtest/gtest.h>

#include "tests/emulator/mutation/score.h"
#include "tests/emulator/mutation/trial.h"
#include "tests/emulator/nv/mutation/fetch_mutants.h"
#include "tests/emulator/nv/mutation/ioctl_mutants.h"
#include "tests/emulator/nv/mutation/workload.h"

namespace doorbell::testing {
namespace {

struct Chip {
  const char* name;
  nv::hw::QmdVersion version;
};
constexpr Chip kChips[] = {{"sm_86", nv::hw::QmdVersion::V3_0},
                           {"sm_90", nv::hw::QmdVersion::V4_0}};
constexpr u64 kSample = 40;
constexpr unsigned kLeastPercent = 95;

// Whether what is late or stale shows is a matter of luck.
u64 seeds() { return number_in("DOORBELL_MUTANT_SEEDS", 12); }

TEST(NvMutants, TheRunItselfIsClean) {
  for (const Chip& chip : kChips)
    for (u64 seed = 0; seed <= seeds(); ++seed) {
      const Outcome outcome =
          run_nv_workload({.chip = chip.name, .adversarial = seed != 0, .seed = seed});
      EXPECT_TRUE(outcome.clean()) << chip.name << ", seed " << seed << ": " << outcome.why();
    }
}

TEST(NvMutants, OfSubmissionsAreCaught) {
  Score score("NV's submissions", "nv/mutation/fetch_survivors.txt", kSample);
  for (const Chip& chip : kChips) {
    FetchRecording recording(chip.version);
    ASSERT_TRUE(run_nv_workload({.chip = chip.name, .hook = &recording}).clean());
    for (const FetchMutant& mutant : recording.mutants()) {
      const MutantName name{name_of(mutant.change), chip.name, mutant.name};
      score.take(name, [&](bool listed) {
        return is_caught(name, listed, seeds(), [&](u64 seed) {
          FetchMutation mutation(mutant);
          const Outcome outcome = run_nv_workload(
              {.chip = chip.name, .adversarial = seed != 0, .seed = seed, .hook = &mutation});
          if (!outcome.clean()) return End::Caught;
          return mutation.happened() ? End::Clean : End::Absent;
        });
      });
    }
  }
  score.tell(kLeastPercent);
}

TEST(NvMutants, OfArgumentsAreCaught) {
  Score score("NV's calls", "nv/mutation/ioctl_survivors.txt", kSample);
  for (const Chip& chip : kChips) {
    NvDoor recording(nullptr);
    NvWorkload workload{.chip = chip.name};
    workload.wrap = [&](auto files) { return recording.wrap(std::move(files)); };
    ASSERT_TRUE(run_nv_workload(workload).clean());
    for (const std::string& unknown : recording.unknown())
      ADD_FAILURE() << "no record: " << unknown;
    for (const IoctlMutant& mutant : recording.mutants()) {
      const MutantName name{name_of(mutant.change), chip.name, mutant.name};
      score.take(name, [&](bool listed) {
        return is_caught(name, listed, seeds(), [&](u64 seed) {
          if (seed > 1) return End::Clean;  // nothing of it is late
          NvDoor door(&mutant);
          NvWorkload changed{.chip = chip.name, .adversarial = seed != 0, .seed = seed};
          changed.wrap = [&](auto files) { return door.wrap(std::move(files)); };
          if (!run_nv_workload(changed).clean()) return End::Caught;
          return door.happened() ? End::Clean : End::Absent;
        });
      });
    }
  }
  score.tell(kLeastPercent);
}

}  // namespace
}  // namespace doorbell::testing
