// The environment variables of Metal devices; docs/env.md lists them.
#pragma once

#include "base/util/setting.h"

namespace doorbell::metal {

struct Settings {
  bool bfloat = true;

  static void fields(auto& settings, auto f) {
    auto& [bfloat] = settings;
    f(Setting{"METAL_BFLOAT", "0: kernels use no bfloat, as on macOS before 14."}, bfloat);
  }
};

}  // namespace doorbell::metal
