// The environment variables of CUDA devices; docs/env.md lists them.
#pragma once

#include "base/util/setting.h"

namespace doorbell::cuda {

struct Settings {
  bool graphs = true;

  static void fields(auto& settings, auto f) {
    auto& [graphs] = settings;
    f(Setting{"CUDA_GRAPHS",
              "0: kernels that run again and again are launched one by one, not as CUDA graphs."},
      graphs);
  }
};

}  // namespace doorbell::cuda
