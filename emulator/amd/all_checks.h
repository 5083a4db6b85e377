// Every rule that an emulated machine with AMD GPUs judges, for lists and documents.
#pragma once

#include <span>

#include "emulator/core/checks.h"

namespace doorbell::emu::amdgpu {

// In the order of their folders: the kernel's door, then the command processors.
std::span<const Check* const> all_checks();

}  // namespace doorbell::emu::amdgpu
