// The emulated machine with NVIDIA GPUs behind EMUNVK, as the composition root sees it. A program
// links one of two definitions: emulated_nv.cc, or no_emulator.cc, which refuses (see
// emulated_amd.h).
#pragma once

#include <memory>
#include <string>

#include "base/os/host_accesses.h"
#include "base/util/result.h"
#include "drivers/nv/kernel/nvk.h"
#include "runtime/emulated/emulator_settings.h"

namespace doorbell::runtime {

// Owns what its Nvk stands on.
class EmulatedNv {
 public:
  virtual ~EmulatedNv() = default;
  virtual std::shared_ptr<nv::Nvk> nvk() = 0;
  // What stopped a channel of some GPU last, or what its channels wait for; empty: nothing.
  virtual std::string explanation() = 0;
  // Is told what drivers copy by the host; null: nobody asks.
  virtual os::HostAccesses* host_accesses() = 0;
};

// `arch`: the GPU that DEV asks for, or empty.
Result<std::unique_ptr<EmulatedNv>> open_emulated_nv(const EmulatorSettings& settings,
                                                     const std::string& arch);

}  // namespace doorbell::runtime
