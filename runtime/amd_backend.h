// AMD in the composition root: which interface opens a device, on this machine's kernel or on an
// emulated one, and the settings of both. The devices are drivers/amd's, the emulated machine is
// emulator/amd's, code for them amd_toolchain.h's.
#pragma once

#include "base/os/environment.h"
#include "base/os/host.h"
#include "core/device/device.h"
#include "core/util/config.h"

namespace doorbell::runtime {

// Opens devices of the spec's interface: KFD where it names none. Malformed settings, and an
// interface that this version has not, are told when a device is opened. docs/env.md lists the
// settings.
//
// Thread safety: may be called from any thread.
class AmdBackend {
 public:
  // `kernel`: where KFD is; outlives the process's use of it, as its /dev/kfd is opened once and
  // never closed.
  AmdBackend(const os::Environment& environment, const core::Config& config,
             os::Files& kernel = os::host_files());
  Result<std::unique_ptr<core::Device>> open(core::DeviceSpec spec);

 private:
  struct State;
  std::shared_ptr<State> state_;  // by the copies in a std::function
};

// Of the GPU that an AMD device drives; 0 for every other device.
i64 amd_compute_units(const core::Device& device);

}  // namespace doorbell::runtime
