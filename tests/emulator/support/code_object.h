// Places an AMDGPU object file (relocatable, as LLVM emits it) for the emulator's tests: the
// allocated sections behind each other in one image, relocated for the address where the image will
// stand. Written apart from the driver's loader, so that neither hides the other's mistake.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::testing {

struct PlacedCode {
  std::vector<u8> image;
  u64 descriptor = 0;  // offset in the image of "<kernel>.kd"
};

// Bytes that the image needs, and the image for `address` (a multiple of 4096).
Result<PlacedCode> place_code(std::span<const u8> object, std::string_view kernel, u64 address);

}  // namespace doorbell::testing
