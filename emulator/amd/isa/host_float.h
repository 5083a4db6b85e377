// The host's rounding while a wave runs: as the wave's MODE asks for 32-bit floats.
#pragma once

#include "emulator/amd/isa/wave.h"

namespace doorbell::emulator::amd {

void set_host_float_mode(const Wave& wave);
// A mode as MODE's fields have it: 0 nearest even, 1 up, 2 down, 3 towards zero.
void set_host_rounding(u32 mode);

// For as long as it lives; the mode before is restored behind it.
class HostFloatMode {
 public:
  explicit HostFloatMode(const Wave& wave);
  ~HostFloatMode();
  HostFloatMode(const HostFloatMode&) = delete;
  HostFloatMode& operator=(const HostFloatMode&) = delete;

 private:
  u32 before_;
};

}  // namespace doorbell::emulator::amd
