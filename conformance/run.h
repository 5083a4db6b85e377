// Runs the suite: chooses cases, realises batches, makes the report. tools/doorbell prints it.
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
  // Keeps one of this many batches of each group, chosen by the seed, and a few of its cases; 0:
  // all.
  u64 sample_one_in = 0;
  // No batch begins later than this many seconds after the first; 0: no limit. With a limit the
  // seed chooses the order, so that what did run is a sample of all.
  f64 seconds = 0;
};

struct Failure {
  std::string name;
  std::string text;    // lines with the expected and the actual values
  std::string filter;  // a filter that reproduces the failure
};

struct GroupCount {
  i64 passed = 0, failed = 0, skipped = 0;
  f64 seconds = 0;
};

struct Report {
  i64 passed = 0, failed = 0, skipped = 0;
  i64 not_run = 0;           // for want of time
  i64 failed_elsewhere = 0;  // in the other processes of mpirun
  std::vector<Failure> failures;
  std::map<std::string, i64> skips;          // cases by reason
  std::map<std::string, GroupCount> groups;  // by the first word of their names
};

// The cases that the options select, in batches. Fails for a filter that is not a regular
// expression or that matches no case.
Result<std::vector<Batch>> choose(const Suite& suite, const Options& options);

// `progress` is called for each failure when it happens, and for each finished batch.
struct Progress {
  std::function<void(const Failure&)> failure;
  std::function<void(const Batch&, f64 seconds)> batch;
  // What the tensors of a case held; null: it is not kept. Not called for cases that hold nothing.
  std::function<void(const Case&, const std::vector<Held>&)> held{};
};
Report run(const std::vector<Batch>& batches, const Target& target, const Options& options,
           const Progress& progress = {});

// "120 passed, 0 failed, 14 skipped, 30 not run for want of time: 14 the device declares no
// float64"
std::string last_line(const Report& report, const Target& target);

}  // namespace doorbell::conformance
