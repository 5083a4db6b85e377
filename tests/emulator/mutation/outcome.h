// How a run of a driver on an emulator ended: every way in which a mistake can show.
#pragma once

#include <string>
#include <vector>

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

}  // namespace doorbell::testing
