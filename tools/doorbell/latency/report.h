// The results as text and as JSON. For the picture see plot.h.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/doorbell/latency/series.h"

namespace doorbell::tools::latency {

struct Report {
  std::string machine, device;        // "CPU", "CPU:1"
  std::string description, renderer;  // "2 threads, AVX-512"; "LLVM"
  int threads = 1;
  bool runs = true;
  std::string clock;  // of the host and of the device's timestamps
  f64 clock_read_ns = 0;
  Sampling sampling;
  std::vector<std::string> notes;  // how to read the figures of this device
  std::vector<Series> series;
};

Report describe(const core::Device& device, const Sampling& sampling);

// A table, and a histogram of each figure if asked for.
void print_text(const Report& report, bool has_histograms);
nlohmann::json to_json(const Report& report);

}  // namespace doorbell::tools::latency
