// MappedAllocator: the part of an Allocator whose memory the host sees at Allocation::host: the
// processor copies.
#pragma once

#include "core/device/allocator.h"

namespace doorbell::core {

class MappedAllocator : public Allocator {
 public:
  Result<void> copy_in(const Allocation& to, i64 offset, const void* from, i64 bytes) override;
  Result<void> copy_out(void* to, const Allocation& from, i64 offset, i64 bytes) override;
  Result<void> copy(const Allocation& to, i64 to_offset, const Allocation& from, i64 from_offset,
                    i64 bytes) override;
};

}  // namespace doorbell::core
