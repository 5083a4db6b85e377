// The environment variables of CUDA devices; docs/env.md lists them.
#pragma once

#include "base/util/setting.h"

namespace doorbell::cuda {

struct Settings {
  bool graphs = true;
  std::string nccl;

  static void fields(auto& settings, auto f) {
    auto& [graphs, nccl] = settings;
    f(Setting{"CUDA_GRAPHS",
              "0: kernels that run again and again are launched one by one, not as CUDA graphs."},
      graphs);
    f(
        Setting{
            "NCCL",
            "Between GPUs of several processes. 0: bytes pass through the host's memory. 1, or the "
            "path of NCCL's library: an error where NCCL cannot be used. By default it is used "
            "where it can."},
        nccl);
  }
};

}  // namespace doorbell::cuda
