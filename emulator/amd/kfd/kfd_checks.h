// The kernel's rules that the emulated KFD checks, one constant each. kfd_checks.def defines them.
#pragma once

#include "emulator/core/checks.h"

namespace doorbell::emu::amdgpu {

#define DOORBELL_RULE(name, ...) inline constexpr Check name{__VA_ARGS__};
#include "emulator/amd/kfd/kfd_checks.def"
#undef DOORBELL_RULE

}  // namespace doorbell::emu::amdgpu
