// The environment variables of OpenCL devices; docs/env.md lists them.
#pragma once

#include "base/util/setting.h"

namespace doorbell::cl {

struct Settings {
  std::string platform;
  bool image = false;

  static void fields(auto& settings, auto f) {
    auto& [platform, image] = settings;
    f(Setting{"CL_PLATFORM",
              "Part of the name of the OpenCL platform whose devices CL, CL:1, ... are; otherwise "
              "those of all platforms, GPUs first."},
      platform);
    f(Setting{"IMAGE",
              "1: OpenCL kernels read what they can through images, where the device has them."},
      image);
  }
};

}  // namespace doorbell::cl
