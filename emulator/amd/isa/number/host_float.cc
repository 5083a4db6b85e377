// The host's MXCSR. Its rounding field has the order nearest, down, up, towards zero; MODE's has
// nearest, up, down, towards zero. Denormals are kept: handlers flush where MODE says.
#include "emulator/amd/isa/number/host_float.h"

#include <xmmintrin.h>

namespace doorbell::emu::amdgpu {

void set_host_float_mode(const Wave& wave) { set_host_rounding(wave.mode.round_32); }

void set_host_rounding(u32 mode) {
  constexpr u32 kRounding[] = {0, 2, 1, 3};
  constexpr u32 kMaskExceptions = 0x1f80;
  _mm_setcsr(kMaskExceptions | kRounding[mode & 3] << 13);
}

HostFloatMode::HostFloatMode(const Wave& wave) : before_(_mm_getcsr()) {
  set_host_float_mode(wave);
}

HostFloatMode::~HostFloatMode() { _mm_setcsr(before_); }

}  // namespace doorbell::emu::amdgpu
