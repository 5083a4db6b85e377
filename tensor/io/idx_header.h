// The header of an IDX file, the format of the MNIST data (yann.lecun.com/exdb/mnist, "The IDX file
// format"): a magic word with the element type and the number of axes, big-endian sizes, then
// big-endian elements. Reading trusts nothing. For files and tensors see idx.h.
#pragma once

#include <span>
#include <vector>

#include "base/util/result.h"
#include "base/util/types.h"
#include "core/dtype/dtype.h"

namespace doorbell::io {

struct IdxHeader {
  core::DType dtype;
  std::vector<i64> shape;
  u64 data_start = 0;  // bytes before the elements
};

// Of the bytes of a whole file, not compressed.
Result<IdxHeader> parse_idx(std::span<const u8> file);

}  // namespace doorbell::io
