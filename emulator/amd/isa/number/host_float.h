// The host's rounding while a wave runs: as the wave's MODE asks for 32-bit floats.
#pragma once

#include "emulator/amd/isa/wave.h"

namespace doorbell::emu::amdgpu {

void set_host_float_mode(const Wave& wave);
// A mode as MODE's fields have it: 0 nearest even, 1 up, 2 down, 3 towards zero.
void set_host_rounding(u32 mode);

// The field of MODE that determines an instruction's rounding, or always to nearest. Conversions
// round as their result's width does. Measured on gfx1201: transcendental functions ignore MODE's
// rounding. [RDNA3 ISA, "Mode register"; rocjitsu conversion.h and its pseudo-scalar
// transcendentals, measured on an RX 9070 XT]
enum class Rounds : u8 { Single, Double, Nearest };  // Double: 16-bit floats too

// Sets the host's rounding for one instruction, if it differs from that of 32-bit floats.
template <Rounds kRounds>
class InstructionRounding {
 public:
  explicit InstructionRounding(const Wave& wave) : wave_(wave) {
    if (kRounds != Rounds::Single && !wave.float_plain) [[unlikely]]
      set_host_rounding(kRounds == Rounds::Double ? wave.mode.round_64 : 0u);
  }
  ~InstructionRounding() {
    if (kRounds != Rounds::Single && !wave_.float_plain) [[unlikely]]
      set_host_rounding(wave_.mode.round_32);
  }
  InstructionRounding(const InstructionRounding&) = delete;
  InstructionRounding& operator=(const InstructionRounding&) = delete;

 private:
  const Wave& wave_;
};

// Sets the host's rounding while it lives, and restores the mode before.
class HostFloatMode {
 public:
  explicit HostFloatMode(const Wave& wave);
  ~HostFloatMode();
  HostFloatMode(const HostFloatMode&) = delete;
  HostFloatMode& operator=(const HostFloatMode&) = delete;

 private:
  u32 before_;
};

}  // namespace doorbell::emu::amdgpu
