// Each mutant is caught: by the kernel's refusal, a broken rule, a fault, a hang or a wrong result;
// or is in a list of survivors with the reason. A run tries a sample (mutation/score.h).
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/emulator/amd/mutation/kfd_door.h"
#include "tests/emulator/amd/mutation/packet_mutants.h"
#include "tests/emulator/amd/mutation/workload.h"
#include "tests/emulator/mutation/score.h"
#include "tests/emulator/mutation/trial.h"

namespace doorbell::testing {
namespace {

using Generation = amd::hw::Generation;

struct Configuration {
  const char* chip;
  Generation generation;
  bool aql;
  bool bits = false;  // each bit is turned over; else only what is coarser is changed
};

std::string name_of(const Configuration& one) {
  return std::string(one.chip) + (one.aql ? "_aql" : "_pm4");
}

// An AQL queue of gfx942 and gfx950 runs on 8 XCCs, a PM4 queue on one.
constexpr Configuration kConfigurations[] = {
    {"gfx1100", Generation::Gfx11, false, true}, {"gfx942", Generation::Gfx9, false, true},
    {"gfx1100", Generation::Gfx11, true, true},  {"gfx942", Generation::Gfx9, true, true},
    {"gfx1030", Generation::Gfx10, false},       {"gfx1201", Generation::Gfx12, false},
    {"gfx1030", Generation::Gfx10, true},        {"gfx1201", Generation::Gfx12, true},
    {"gfx950", Generation::Gfx9, true},
};
constexpr Configuration kDoors[] = {{"gfx1100", Generation::Gfx11, false},
                                    {"gfx942", Generation::Gfx9, true},
                                    {"gfx1030", Generation::Gfx10, true}};

constexpr u64 kSample = 200;
constexpr unsigned kLeastPackets = 95, kLeastArguments = 95;

// Whether what is late or stale shows is a matter of luck.
u64 seeds() { return number_in("DOORBELL_MUTANT_SEEDS", 12); }

Workload workload_of(const Configuration& one, u64 seed) {
  return {.chip = one.chip, .aql = one.aql, .adversarial = seed != 0, .seed = seed};
}

TEST(Mutants, TheRunItselfIsClean) {
  for (const Configuration& one : kConfigurations) {
    const auto code = compile_workload(one.chip);
    ASSERT_TRUE(code) << to_string(code.error());
    for (u64 seed = 0; seed <= 2; ++seed) {
      std::string lines;
      Workload workload = workload_of(one, seed);
      workload.trace = [&](std::string_view line) { lines += line; };
      const Outcome outcome = run_workload(workload, *code, nullptr);
      EXPECT_TRUE(outcome.clean())
          << name_of(one) << ", seed " << seed << ": " << outcome.why() << "\n"
          << lines.substr(lines.size() - std::min<usize>(lines.size(), 1500));
    }
  }
}

TEST(Mutants, OfSubmissionsAreCaught) {
  Score score("AMD's submissions", "amd/mutation/packet_survivors.txt", kSample);
  for (const Configuration& one : kConfigurations) {
    const auto code = compile_workload(one.chip);
    ASSERT_TRUE(code) << to_string(code.error());
    PacketRecording recording(one.generation, one.bits);
    ASSERT_TRUE(run_workload(workload_of(one, 1), *code, &recording).clean());
    for (const PacketMutant& mutant : recording.mutants()) {
      const std::string kind = mutant.role.is_doorbell ? "doorbell" : name_of(mutant.change);
      const MutantName name{kind, name_of(one), mutant.name};
      score.take(name, [&](bool listed) {
        return is_caught(name, listed, seeds(), [&](u64 seed) {
          PacketMutation mutation(mutant);
          if (!run_workload(workload_of(one, seed), *code, &mutation).clean()) return End::Caught;
          return mutation.happened() || seed != 1 ? End::Clean : End::Absent;  // 1 was recorded
        });
      });
    }
  }
  score.tell(kLeastPackets);
}

TEST(Mutants, OfArgumentsAreCaught) {
  Score score("AMD's calls", "amd/mutation/ioctl_survivors.txt", kSample);
  for (const Configuration& one : kDoors) {
    const auto code = compile_workload(one.chip);
    ASSERT_TRUE(code) << to_string(code.error());
    KfdDoor recording(nullptr);
    Workload workload = workload_of(one, 1);
    workload.wrap = [&](auto files) { return recording.wrap(std::move(files)); };
    ASSERT_TRUE(run_workload(workload, *code, nullptr).clean());
    for (const std::string& unknown : recording.unknown())
      ADD_FAILURE() << "no record: " << unknown;
    for (const IoctlMutant& mutant : recording.mutants()) {
      const MutantName name{name_of(mutant.change), name_of(one), mutant.name};
      score.take(name, [&](bool listed) {
        return is_caught(name, listed, seeds(), [&](u64 seed) {
          if (seed > 1) return End::Clean;  // nothing of it is late
          KfdDoor door(&mutant);
          Workload changed = workload_of(one, seed);
          changed.wrap = [&](auto files) { return door.wrap(std::move(files)); };
          if (!run_workload(changed, *code, nullptr).clean()) return End::Caught;
          return door.happened() || seed != 1 ? End::Clean : End::Absent;  // 1 was recorded
        });
      });
    }
  }
  score.tell(kLeastArguments);
}

}  // namespace
}  // namespace doorbell::testing
