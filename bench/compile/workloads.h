// What bench/compile schedules and compiles. tinygrad_compile.py has the same under the same names.
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
  // Makes weights and inputs; what it returns builds the lazy graph, and is what is timed. Smoke
  // runs scale down what is large.
  Build (*prepare)(bool smoke);
  bool in_tinygrad = true;
};

std::span<const Workload> workloads();
const Workload* find_workload(std::string_view name);

}  // namespace doorbell::bench
