// The rules that the command processors judge, one constant each. rules.def defines them.
#pragma once

#include "emulator/core/checks.h"

namespace doorbell::emu::amdgpu {

#define DOORBELL_RULE(name, ...) inline constexpr Check name{__VA_ARGS__};
#include "emulator/amd/cp/rules.def"
#undef DOORBELL_RULE

}  // namespace doorbell::emu::amdgpu
