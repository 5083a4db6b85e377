// Numbers as users write them in options and environment variables.
#pragma once

#include <string_view>

#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::emu {

// A decimal number below 2^64; an error calls it `what`.
Result<u64> parse_number(std::string_view what, std::string_view text);
// The same; `otherwise` of an empty text.
Result<u64> parse_number(std::string_view what, std::string_view text, u64 otherwise);

}  // namespace doorbell::emu
