// Which pages of private memory were accessed since it was mapped.
#pragma once

#include <vector>

#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::os {

// Whole pages. Huge pages would count for all that they hold, so they are forbidden before the
// first access.
Result<void> forbid_huge_pages(u8* data, usize size);
Result<std::vector<bool>> touched_pages(const u8* data, usize size);

}  // namespace doorbell::os
