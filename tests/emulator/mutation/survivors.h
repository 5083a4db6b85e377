// Lists of mutants that are not detected, each with the reason (amd/mutation/packet_survivors.txt):
// a line names mutants by an fnmatch(3) pattern.
#pragma once

#include <string>
#include <vector>

namespace doorbell::testing {

class Survivors {
 public:
  // A file below tests/emulator.
  explicit Survivors(const std::string& file);
  // Whether some line names the mutant, with or without `where` before it.
  bool name(const std::string& where, const std::string& mutant);
  // Lines that name no mutant fail the test.
  void expect_all_named() const;

 private:
  struct Line {
    std::string pattern;
    bool named = false;
  };
  std::vector<Line> lines_;
};

}  // namespace doorbell::testing
