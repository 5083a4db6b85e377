// How often the calling thread has asked for memory. The test program's own operator new counts.
#pragma once

#include "base/util/types.h"

namespace doorbell::testing {

u64 allocations_of_this_thread();

}  // namespace doorbell::testing
