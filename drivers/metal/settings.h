// The environment variables of Metal devices; docs/env.md lists them.
#pragma once

#include "base/util/setting.h"

namespace doorbell::metal {

struct Settings {
  bool bfloat = true, icb = true;

  static void fields(auto& settings, auto f) {
    auto& [bfloat, icb] = settings;
    f(Setting{"METAL_BFLOAT", "0: kernels use no bfloat, as on macOS before 14."}, bfloat);
    f(Setting{"METAL_ICB",
              "0: kernels that run again and again are encoded one by one, not in indirect command "
              "buffers."},
      icb);
  }
};

}  // namespace doorbell::metal
