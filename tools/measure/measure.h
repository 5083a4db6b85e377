// Time and memory of a piece of work, and the names of the machine it ran on. The benchmark
// interprets the samples.
#pragma once

#include <functional>
#include <string>

#include "base/util/types.h"

namespace doorbell::tools {

// Seconds since some moment.
f64 now();

struct Timing {
  f64 median = 0, best = 0;  // seconds per call
  usize samples = 0;
};

struct MeasureOptions {
  int warmup = 3;
  usize samples = 11;
  f64 sample_seconds = 0.02;  // a sample repeats the body until it lasts about this long
  f64 limit_seconds = 10;     // no new sample after this, once there are three
};

Timing measure(const std::function<void()>& body, const MeasureOptions& options = {});

// The most memory this process has held, in MiB.
f64 peak_memory_mib();

// "AMD EPYC, 2 hardware threads, AVX-512".
std::string machine();

// The path of this program, and the folder it is in.
std::string own_path();
std::string own_folder();

}  // namespace doorbell::tools
