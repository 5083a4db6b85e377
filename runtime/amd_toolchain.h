// AMD in the composition root: which renderer and compiler make code for a chip. Opening the device
// is drivers/amd's.
#pragma once

#include <string>
#include <string_view>

#include "runtime/extension.h"

namespace doorbell::runtime {

// "AMD_LLVM": the device and its renderer.
bool is_amd_toolchain(std::string_view name);

// `arch` is the chip, "gfx1100"; of a device that was opened, the one it found.
Result<Toolchain> make_amd_toolchain(std::string_view name, const std::string& arch,
                                     i64 compute_units);

}  // namespace doorbell::runtime
