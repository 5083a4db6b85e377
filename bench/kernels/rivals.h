// Libraries that are timed beside our kernels, in samples taken in turn: OpenBLAS in this process,
// PyTorch in one of its own. What they run is named by a task, a JSON object that a workload has:
// {"kind": "matmul", "m": 512, ...}; torch_workloads.py has all kinds.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::bench {

class Rival {
 public:
  virtual ~Rival() = default;
  virtual std::string name() const = 0;         // "openblas"
  virtual std::string description() const = 0;  // its version and the kernels that it chose
  // Whether it can run the task; if so, it made the inputs and ran it once.
  virtual Result<bool> prepare(const nlohmann::json& task) = 0;
  // Seconds per call, of as many calls as take about `seconds`.
  virtual Result<f64> sample(f64 seconds) = 0;
};

struct RivalOptions {
  std::string names = "openblas";  // with commas between them
  std::string python = "python3";  // one that has PyTorch
  int threads = 1;
};

// Fails if a name is unknown or PyTorch does not start. OpenBLAS that is not found is left out, and
// `missing` says why.
Result<std::vector<std::unique_ptr<Rival>>> open_rivals(const RivalOptions& options,
                                                        std::string* missing);

}  // namespace doorbell::bench
