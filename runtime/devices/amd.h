// AMD's kind of device: which interface opens one, on this machine's kernel or on an emulated one,
// and the settings of both. Driving it is left to drivers/amd, the emulated machine to
// runtime/emulated.
#pragma once

#include "base/os/host.h"
#include "core/device/device.h"
#include "core/util/config.h"

namespace doorbell::runtime {

// Opens devices of the spec's interface: KFD where it names none. open() fails for malformed
// settings, and for an interface that this version lacks. docs/env.md lists the settings.
//
// Thread safety: may be called from any thread.
class AmdBackend {
 public:
  // `kernel`: where KFD is; outlives the process's use of it, as its /dev/kfd is opened once and
  // never closed.
  explicit AmdBackend(const core::Config& config, os::Files& kernel = os::host_files());
  Result<std::unique_ptr<core::Device>> open(core::DeviceSpec spec);

 private:
  struct State;
  std::shared_ptr<State> state_;  // by the copies in a std::function
};

}  // namespace doorbell::runtime
