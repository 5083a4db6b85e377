// The stream of random numbers.
//
// Not for users.
#pragma once

#include "core/device/device.h"
#include "core/uop/uop.h"

namespace doorbell::detail {

// The buffer {key, counter} of the next draw of `count` random elements on a device.
core::UOpRef next_draw(core::Device& device, i64 count);

}  // namespace doorbell::detail
