// The emulated machine behind EMUKFD, as the composition root sees it. A program links one of two
// definitions: emulated_amd.cc has the emulator in it, no_emulator.cc, for programs that are to be
// built quickly, refuses.
#pragma once

#include <memory>
#include <string>

#include "base/util/result.h"
#include "base/util/setting.h"
#include "drivers/amd/kernel/kfd.h"

namespace doorbell::runtime {

// Owns what its Kfd stands on.
class EmulatedAmd {
 public:
  virtual ~EmulatedAmd() = default;
  virtual std::shared_ptr<amd::Kfd> kfd() = 0;
  // What stopped this GPU last; empty: nothing did.
  virtual std::string last_fault(u32 gpu_id) = 0;
};

// The environment variables of the machine; docs/env.md lists them.
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

// `arch`: the GPU that DEV asks for, or empty.
Result<std::unique_ptr<EmulatedAmd>> open_emulated_amd(const EmulatorSettings& settings,
                                                       const std::string& arch);

}  // namespace doorbell::runtime
