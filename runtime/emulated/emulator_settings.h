// The environment variables of emulated machines, AMD's and CUDA's.
#pragma once

#include "base/util/setting.h"

namespace doorbell::runtime {

// docs/env.md lists them.
struct EmulatorSettings {
  std::string gpus, checks;
  bool adversarial = false;
  std::optional<u64> seed, hang_after;
  std::string trace, trace_only;
  std::optional<u64> trace_limit;

  static void fields(auto& settings, auto f) {
    auto& [gpus, checks, adversarial, seed, hang_after, trace, trace_only, trace_limit] = settings;
    f(Setting{"EMU_GPU", "GPUs of the emulated machine, in order; otherwise the chip of DEV."},
      gpus);
    f(Setting{"EMU_CHECKS", "Levels of its rules."}, checks);
    f(Setting{"EMU_ADVERSARIAL", "1: the weakest legal hardware."}, adversarial);
    f(Setting{"EMU_SEED", "Lockstep, in virtual time, the same for the same seed."}, seed);
    f(Setting{"EMU_HANG_AFTER", "Wave instructions after which a kernel hangs; 0: it never does."},
      hang_after);
    f(Setting{"EMU_TRACE", "A file for its ioctls, packets, interrupts and faults."}, trace);
    f(Setting{"EMU_TRACE_ONLY", "Which of them."}, trace_only);
    f(Setting{"EMU_TRACE_LIMIT", "Bytes at which the file ends."}, trace_limit);
  }
};

}  // namespace doorbell::runtime
