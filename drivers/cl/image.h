// The image of a compiled kernel: the device's own binary, and the source that it was made from,
// for a device that gives no binaries or does not take an older one back.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::cl {

struct Image {
  std::string_view source;
  std::span<const u8> binary;  // may be empty
};

std::vector<u8> encode(const Image& image);
// Views of `bytes`.
Result<Image> decode(std::span<const u8> bytes);

}  // namespace doorbell::cl
