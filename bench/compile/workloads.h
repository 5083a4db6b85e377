// The graphs that bench/compile schedules and compiles. tinygrad_compile.py has the same ones with
// the same names.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "tensor/api/tensor.h"

namespace doorbell::bench {

using Build = std::function<std::vector<Tensor>()>;

struct Workload {
  std::string_view name;
  std::string_view text;  // for the table
  // Makes weights and inputs and returns the function that builds the lazy graph, which is timed.
  // Smoke runs use smaller sizes.
  Build (*prepare)(bool smoke);
  bool in_tinygrad = true;
};

std::span<const Workload> workloads();
const Workload* find_workload(std::string_view name);

}  // namespace doorbell::bench
