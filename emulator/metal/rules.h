// The rules of rules.def as constants.
#pragma once

#include <span>

#include "emulator/core/checks.h"

namespace doorbell::emu::metal {

#define DOORBELL_RULE(name, ...) inline constexpr Check name{__VA_ARGS__};
#include "emulator/metal/rules.def"
#undef DOORBELL_RULE

// All of them, in the order of the file.
std::span<const Check* const> all_checks();

}  // namespace doorbell::emu::metal
