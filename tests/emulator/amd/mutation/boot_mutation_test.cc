// Each mutant of a start without the kernel's driver (boot_mutants.h) is caught: the start fails, a
// rule is broken, a kernel's result is wrong, or the next process does not find the GPU alive; or
// it is in boot_survivors.txt with the reason. A run tries a sample (mutation/score.h).
#include <gtest/gtest.h>

#include "tests/emulator/amd/mutation/boot_mutants.h"
#include "tests/emulator/mutation/score.h"
#include "tests/emulator/mutation/trial.h"

namespace doorbell::testing {
namespace {

struct Board {
  const char* chip;
  amd::hw::BareChip bare;
};
constexpr Board kBoards[] = {{"gfx1100", amd::hw::BareChip::Gc11},
                             {"gfx1201", amd::hw::BareChip::Gc12}};

constexpr u64 kSample = 400;
constexpr unsigned kLeast = 70;
// A reset takes half a second of the machine's time, a process behind one that ended well none.
constexpr u64 kLongestWarmStart_ns = 100'000'000;

// A process that runs a kernel; how long its start took.
std::string run_process(amd::PciMachine& machine, const char* chip, BootDoor& door, u64& start_ns) {
  const u64 begin_ns = machine.clock->now_ns();
  auto process = machine.start(door.filter(machine));
  if (!process) return process.error().message;
  auto device = machine.open(**process, 0, {.timeout_ns = 50'000'000});
  if (!device) return device.error().message;
  start_ns = machine.clock->now_ns() - begin_ns;
  return amd::run_kernel(**device, chip);
}

// One process behind the other, on a GPU that nobody has started yet. "": all is well.
std::string run_both(const Board& board, BootDoor& door) {
  amd::PciMachine machine({.gpus = {board.chip}, .lockstep = true});
  u64 start_ns = 0;
  for (const bool is_first : {true, false}) {
    const std::string why = run_process(machine, board.chip, door, start_ns);
    if (!why.empty()) return why;
    machine.machine->tell_leaks();
    std::lock_guard lock(machine.mutex);
    if (!machine.reports.empty()) return to_string(machine.reports[0]);
    if (!is_first && start_ns > kLongestWarmStart_ns) return "the second start is not warm";
  }
  return "";
}

TEST(BootMutants, AreCaught) {
  Score score("AMD's start without a kernel driver", "amd/mutation/boot_survivors.txt", kSample);
  for (const Board& board : kBoards) {
    BootDoor recording(board.bare, nullptr);
    ASSERT_EQ(run_both(board, recording), "");
    EXPECT_TRUE(recording.unknown().empty()) << *recording.unknown().begin();
    for (const BootMutant& mutant : recording.mutants()) {
      const MutantName name{name_of(mutant.change), board.chip, mutant.name};
      score.take(name, [&](bool listed) {
        return is_caught(name, listed, 0, [&](u64) {
          BootDoor door(board.bare, &mutant);
          if (!run_both(board, door).empty()) return End::Caught;
          return door.happened() ? End::Clean : End::Absent;
        });
      });
    }
  }
  score.tell(kLeast);
}

}  // namespace
}  // namespace doorbell::testing
