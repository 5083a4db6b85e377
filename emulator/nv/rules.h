// The rules of rules.def as constants; those of kernels: compute/rules.h.
#pragma once

#include <span>

#include "emulator/core/checks.h"

namespace doorbell::emu::nvgpu {

#define DOORBELL_RULE(name, ...) inline constexpr Check name{__VA_ARGS__};
#include "emulator/nv/rules.def"
#undef DOORBELL_RULE

// All of them, in the order of the file, and those of kernels.
std::span<const Check* const> all_checks();

}  // namespace doorbell::emu::nvgpu
