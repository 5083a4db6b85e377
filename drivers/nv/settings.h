// The environment variables of NVIDIA's compilers; docs/env.md lists them.
#pragma once

#include "base/util/setting.h"

namespace doorbell::nv {

struct Settings {
  std::string cuda_path;

  static void fields(auto& settings, auto f) {
    auto& [cuda_path] = settings;
    f(
        Setting{
            "CUDA_PATH",
            "A folder with NVIDIA's compilers, looked in before others: a CUDA toolkit's, or that "
            "of PyPI's wheels, site-packages/nvidia."},
        cuda_path);
  }
};

}  // namespace doorbell::nv
