// What users write of a machine, for every door that takes it: GPUs and numbers. What a name stands
// for is machine.h's to say.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::emu::amdgpu {

// "gfx1100,gfx942", in order. Invalid when there is none, or one without a name.
Result<std::vector<std::string>> parse_gpus(std::string_view text);
// A decimal number below 2^64; an error calls it `what`.
Result<u64> parse_number(std::string_view what, std::string_view text);

}  // namespace doorbell::emu::amdgpu
