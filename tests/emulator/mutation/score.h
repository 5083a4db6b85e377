// Score: which mutants were caught, by operator. A mutant that is not caught must be in the suite's
// list of survivors with a reason, and only then. DOORBELL_SEED chooses the mutants that a run
// tries; DOORBELL_MUTANT_SAMPLE=N tries one of N, 1 all of them (scripts/mutate).
#pragma once

#include <functional>
#include <map>
#include <random>
#include <string>

#include "base/util/types.h"
#include "tests/emulator/mutation/survivors.h"

namespace doorbell::testing {

struct MutantName {
  std::string mutation;  // the operator: "bit", "drop"
  std::string where;     // "gfx1100_pm4", "sm_86"
  std::string name;      // "DMA_COPY LAUNCH_DMA on channel 2: flush_enable bit 0"
};

class Score {
 public:
  // `list` is a file below tests/emulator, `sample` the share where none is asked for.
  Score(std::string suite, const std::string& list, u64 sample);

  // Counts the mutant, and tries it if this run's sample has it. `is_caught` is told whether the
  // mutant is listed as a survivor: a few seeds are enough for those.
  void take(const MutantName& mutant, const std::function<bool(bool listed)>& is_caught);

  // Whether this run's sample is all of them.
  bool tries_all() const { return sample_ == 1; }

  // Prints a line for each operator, and fails the test where fewer than `least_percent` of all
  // mutants are caught, those counted as survivors that the list names, tried or not.
  void tell(unsigned least_percent);

 private:
  struct Tally {
    usize mutants = 0, tried = 0, caught = 0, listed = 0;
  };

  const std::string suite_;
  Survivors survivors_;
  std::mt19937_64 random_;
  u64 sample_;
  std::map<std::string, Tally> tallies_;
};

// An environment variable's number, or `standard` where it is not set.
u64 number_in(const char* variable, u64 standard);

}  // namespace doorbell::testing
