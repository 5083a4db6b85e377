// Running the suite: choosing cases, realising batches, and the report. Printing is the tool's.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "conformance/suite.h"

namespace doorbell::conformance {

struct Options {
  u64 seed = 1;
  std::string filter;  // a regular expression that a case's name must contain
  // Keeps one batch in so many of each group, chosen by the seed, and few cases of it; 0: all.
  u64 sample_one_in = 0;
};

struct Failure {
  std::string name;
  std::string text;    // lines: what was expected and what came
  std::string filter;  // with which the failure comes again
};

struct GroupCount {
  i64 passed = 0, failed = 0, skipped = 0;
  f64 seconds = 0;
};

struct Report {
  i64 passed = 0, failed = 0, skipped = 0;
  std::vector<Failure> failures;
  std::map<std::string, i64> skips;          // cases by reason
  std::map<std::string, GroupCount> groups;  // by the first word of their names
};

// The cases that the options leave, in batches. Fails for a filter that is no regular expression
// or that nothing matches.
Result<std::vector<Batch>> choose(const Suite& suite, const Options& options);

// `progress` hears of each failure when it happens, and of each batch that is done.
struct Progress {
  std::function<void(const Failure&)> failure;
  std::function<void(const Batch&, f64 seconds)> batch;
};
Report run(const std::vector<Batch>& batches, const Target& target, const Options& options,
           const Progress& progress = {});

// "120 passed, 0 failed, 14 skipped: 14 the device declares no float64"
std::string last_line(const Report& report, const Target& target);

}  // namespace doorbell::conformance
