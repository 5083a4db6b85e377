// Samples, and sums.
#include "tests/emulator/mutation/score.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace doorbell::testing {

namespace {

// scripts/mutate reads these lines.
std::string line_of(const std::string& what, usize mutants, usize tried, usize caught,
                    usize listed) {
  return fmt::format("mutants of {}: {} in all, {} tried, {} caught, {} survivors\n", what, mutants,
                     tried, caught, listed);
}

u64 share(u64 standard) {
  const u64 asked = number_in("DOORBELL_MUTANT_SAMPLE", 0);
  if (asked != 0) return asked;
  return number_in("DOORBELL_WHOLE_TESTS", 0) != 0 ? 1 : standard;
}

}  // namespace

u64 number_in(const char* variable, u64 standard) {
  const char* given = std::getenv(variable);
  return given == nullptr ? standard : std::strtoull(given, nullptr, 10);
}

Score::Score(std::string suite, const std::string& list, u64 sample)
    : suite_(std::move(suite)),
      survivors_(list),
      random_(number_in("DOORBELL_SEED", 1)),
      sample_(share(sample)) {}

void Score::take(const MutantName& mutant, const std::function<bool(bool listed)>& is_caught) {
  Tally& tally = tallies_[mutant.mutation];
  const bool listed = survivors_.name(mutant.where, mutant.name);
  ++tally.mutants;
  tally.listed += listed;
  if (random_() % sample_ != 0) return;
  ++tally.tried;
  const bool shows = is_caught(listed);
  tally.caught += shows;
  EXPECT_TRUE(shows || listed) << mutant.where << ' ' << mutant.name << " survives";
  EXPECT_FALSE(shows && listed) << mutant.where << ' ' << mutant.name << " is caught";
}

void Score::tell(unsigned least_percent) {
  survivors_.expect_all_named();
  Tally all;
  for (const auto& [mutation, one] : tallies_) {
    fmt::print("{}",
               line_of(suite_ + ", " + mutation, one.mutants, one.tried, one.caught, one.listed));
    all.mutants += one.mutants;
    all.tried += one.tried;
    all.caught += one.caught;
    all.listed += one.listed;
  }
  EXPECT_GT(all.caught, 20u) << suite_ << ": a workload that does nothing is no success";
  EXPECT_GE((all.mutants - all.listed) * 100, all.mutants * least_percent)
      << suite_ << ": of " << all.mutants << " mutants " << all.listed
      << " are listed as survivors; less than " << least_percent << " % are caught";
}

}  // namespace doorbell::testing
