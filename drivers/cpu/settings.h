// The environment variables of CPU devices; docs/env.md lists them.
#pragma once

#include "base/util/setting.h"

namespace doorbell::cpu {

struct Settings {
  int threads = 0;

  static void fields(auto& settings, auto f) {
    auto& [threads] = settings;
    f(Setting{"CPU_THREADS", "Workers of the CPU device; 0: one per core.", 0, 1024}, threads);
  }
};

}  // namespace doorbell::cpu
