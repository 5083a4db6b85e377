// TensorMap: which boxes of a buffer a kernel copies, for GPUs that copy them by one instruction.
// What a vendor makes of it, and how a kernel gets it, is the driver's.
#pragma once

#include <vector>

#include "base/util/types.h"

namespace doorbell::core {

// Elements outside the sizes are copied as zeros. A box lies in a group's memory without gaps, in
// rows of 128 bytes, with 16-byte unit u of row r at unit u ^ r % 8.
struct TensorMap {
  static constexpr usize kMostDimensions = 5;
  struct Dimension {
    i64 size = 1;    // elements
    i64 stride = 0;  // bytes; of dimension 0 an element's
    i64 box = 1;     // elements of it in a box; of dimension 0 a row of 128 bytes
    bool operator==(const Dimension&) const = default;
  };
  i64 slot = 0;    // of the buffer, among a kernel's parameters
  i64 offset = 0;  // bytes, where the tensor begins in it
  i64 element_bytes = 1;
  std::vector<Dimension> dimensions;  // the contiguous one first

  i64 box_bytes() const {
    i64 bytes = element_bytes;
    for (const Dimension& d : dimensions) bytes *= d.box;
    return bytes;
  }
  bool operator==(const TensorMap&) const = default;
};

}  // namespace doorbell::core
