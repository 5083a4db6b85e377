// The values that PyTorch computed (tests/conformance/generate.py and generate_edges.py), as
// embedded in the program. For the operations by name see operations.h.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "conformance/values.h"

namespace doorbell::conformance {

struct ExpectedGradient {
  usize input;
  Array values;
};

struct ExpectedCase {
  std::string name, operation;
  nlohmann::json arguments;
  bool moved = false;  // elements are only moved: any map of them may be applied to both sides
  bool wide = false;   // only for floats of 32 bits and more: half floats are too inexact
  f64 depth = 0;       // number of roundings that may add up
  std::vector<Array> inputs, outputs;
  // The gradients are those of this result of the operation, weighted by these numbers. By default:
  // the first result, with the weights of generate.py.
  usize differentiated = 0;
  std::optional<Array> upstream;
  std::vector<ExpectedGradient> gradients;
};

// Decompressed and read once. Shared by the cases, which outlive the suite that made them.
using ExpectedCases = std::shared_ptr<const std::vector<ExpectedCase>>;
ExpectedCases expected_cases();
ExpectedCases edge_cases();

// gzip; made by embed.py.
std::span<const unsigned char> expected_bytes();
std::span<const unsigned char> edges_bytes();

}  // namespace doorbell::conformance
