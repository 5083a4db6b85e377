// Reading lists, and matching (survivors.h).
#include "tests/emulator/mutation/survivors.h"

#include <sstream>

#include <fnmatch.h>
#include <gtest/gtest.h>

#include "tests/support/golden.h"

namespace doorbell::testing {

Survivors::Survivors(const std::string& file) {
  std::istringstream text(read_source("tests/emulator/" + file));
  for (std::string line; std::getline(text, line);) {
    if (line.empty() || line[0] == '#') continue;
    const auto bar = line.find(" | ");
    EXPECT_NE(bar, std::string::npos) << "no reason: " << line;
    if (bar != std::string::npos) lines_.push_back({line.substr(0, bar)});
  }
}

bool Survivors::name(const std::string& where, const std::string& mutant) {
  const std::string full = where + ' ' + mutant;
  bool found = false;
  for (Line& line : lines_) {
    if (fnmatch(line.pattern.c_str(), mutant.c_str(), 0) != 0 &&
        fnmatch(line.pattern.c_str(), full.c_str(), 0) != 0)
      continue;
    line.named = found = true;
  }
  return found;
}

void Survivors::expect_all_named() const {
  for (const Line& line : lines_) EXPECT_TRUE(line.named) << "no mutant is called " << line.pattern;
}

}  // namespace doorbell::testing
