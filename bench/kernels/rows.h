// The child of bench_kernels: all workloads with one number of threads, beside the rivals.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace doorbell::bench {

struct Options {
  bool as_json = false, smoke = false;
  int random_shapes = 0;
  unsigned seed = 18;  // of these
  std::string device = "CPU:LLVM", only;
  std::vector<std::string> products;  // beside the named ones
  std::string against = "openblas", python = "python3";
  int threads = 0;  // 0: one, then two
  bool is_child = false;
};

constexpr int kLargest = 4096;  // size of random products

// What the parent prints: peaks, rivals and rows.
nlohmann::json measure_rows(const Options& options);

}  // namespace doorbell::bench
