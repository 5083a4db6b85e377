// The C of an exported function: its header, and the source that calls the kernels. For compiling
// it, and the kernels, see export.cc.
#pragma once

#include <string>
#include <vector>

#include "tensor/export/layout.h"

namespace doorbell::detail {

struct CSource {
  std::string header, source;
};

struct CSourceInput {
  const ExportedFunction& function;
  const std::string& name;
  const std::vector<std::string>& kernels;  // entry points, by item of the layout; "": a copy
  const std::vector<i64>& threads;          // by item: parts of a kernel
  const ExportLayout& layout;
  const std::string& cpu_features;  // as __builtin_cpu_supports knows them, separated by spaces
};
CSource write_c(const CSourceInput& input);

}  // namespace doorbell::detail
