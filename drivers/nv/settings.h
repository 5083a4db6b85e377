// The environment variables of code for NVIDIA's GPUs; docs/env.md lists them.
#pragma once

#include "base/util/setting.h"

namespace doorbell::nv {

struct Settings {
  std::string cuda_path;
  bool allow_tf32 = false, warp_groups = true;

  static void fields(auto& settings, auto f) {
    auto& [cuda_path, allow_tf32, warp_groups] = settings;
    f(
        Setting{
            "CUDA_PATH",
            "A folder with NVIDIA's compilers, looked in before others: a CUDA toolkit's, or that "
            "of PyPI's wheels, site-packages/nvidia."},
        cuda_path);
    f(Setting{"ALLOW_TF32",
              "1: NVIDIA's tensor cores may multiply f32 as tf32, rounded to 10 bits of mantissa."},
      allow_tf32);
    f(
        Setting{
            "WARP_GROUPS",
            "0: NVIDIA's sm_90 multiplies matrices by instructions of a warp only (mma.sync), not "
            "of a warp group (wgmma)."},
        warp_groups);
  }
};

}  // namespace doorbell::nv
