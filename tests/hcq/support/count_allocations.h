// The number of allocations of the calling thread, counted by the test program's operator new.
#pragma once

#include "base/util/types.h"

namespace doorbell::testing {

u64 allocations_of_this_thread();

}  // namespace doorbell::testing
