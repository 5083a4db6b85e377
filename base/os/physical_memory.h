// How much memory this machine has.
#pragma once

#include "base/util/types.h"

namespace doorbell::os {

// In bytes, whatever is in use.
u64 physical_memory_bytes();

}  // namespace doorbell::os
