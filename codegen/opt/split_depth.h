// Whether the depth of a product is split over work groups, and the parts are added by another
// kernel: few rows then fill the target with blocks that are large enough. The scheduler makes the
// two kernels (core/schedule/split_reduce.cc).
#pragma once

#include "codegen/caps.h"
#include "core/schedule/schedule.h"

namespace doorbell::codegen {

// Into how many parts, by the time that the plans of both kernels are estimated to take; 1: not.
i64 depth_parts(const core::ProductShape& product, const Caps& caps);

}  // namespace doorbell::codegen
