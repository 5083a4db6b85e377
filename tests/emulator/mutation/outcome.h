// How a run of a driver on an emulator ended: every way in which a mistake can show.
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "base/util/result.h"
#include "emulator/core/checks.h"

namespace doorbell::testing {

struct Outcome {
  std::string error;                // of the driver: a refusal, a fault, a hang; empty: none
  std::vector<std::string> broken;  // the rules that the emulator saw broken
  std::string wrong;                // what the results got wrong, or empty

  bool clean() const { return error.empty() && broken.empty() && wrong.empty(); }
  // "AMD-CP-004", "fault ...", "wrong result ...".
  std::string why() const {
    if (!broken.empty()) return broken.front();
    return error.empty() ? wrong : error;
  }
};

// `run` works on the machine and returns what the results got wrong. `Machine` is an emulator's.
template <class Machine, class Run>
Outcome outcome_of(Result<std::unique_ptr<Machine>> machine, Run&& run) {
  if (!machine) return {.error = to_string(machine.error())};
  Outcome outcome;
  try {
    Result<std::string> wrong = run(**machine);
    if (wrong)
      outcome.wrong = *wrong;
    else
      outcome.error = to_string(wrong.error());
  } catch (const std::exception& error) {  // an answer that no kernel gives
    outcome.error = error.what();
  }
  (*machine)->tell_leaks();
  for (const emu::Report& report : (*machine)->checks().reports())
    outcome.broken.push_back(emu::to_string(report));
  return outcome;
}

}  // namespace doorbell::testing
