// The rules of a GPU without a kernel driver, one constant each. bare_checks.def defines them.
#pragma once

#include "emulator/core/checks.h"

namespace doorbell::emu::amdgpu {

#define DOORBELL_RULE(name, ...) inline constexpr Check name{__VA_ARGS__};
#include "emulator/amd/bare/bare_checks.def"
#undef DOORBELL_RULE

}  // namespace doorbell::emu::amdgpu
