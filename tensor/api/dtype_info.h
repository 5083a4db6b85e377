// The limits of an element type, as torch.finfo and torch.iinfo give them.
#pragma once

#include "core/dtype/dtype.h"

namespace doorbell {

struct FloatInfo {
  int bits = 0;
  f64 eps = 0;  // from 1 to the next number
  f64 min = 0, max = 0;
  f64 smallest_normal = 0;
  bool has_infinity = true;
  f64 resolution = 0;  // the power of ten by which numbers near 1 differ for certain
  core::DType dtype;
};

struct IntInfo {
  int bits = 0;
  i64 min = 0;
  u64 max = 0;
  core::DType dtype;
};

// Throw Error for a dtype of the other kind.
FloatInfo finfo(core::DType dtype);
IntInfo iinfo(core::DType dtype);

}  // namespace doorbell
