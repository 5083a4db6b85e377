// The GPUs of a machine as users write them, for every door that takes them. See machine.h for what
// the names mean.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/util/result.h"

namespace doorbell::emu::amdgpu {

// "gfx1100,gfx942", in order. Invalid when there is none, or one without a name.
Result<std::vector<std::string>> parse_gpus(std::string_view text);

}  // namespace doorbell::emu::amdgpu
