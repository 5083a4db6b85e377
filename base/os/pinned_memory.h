// PinnedMemory: memory of this process that stays where it is, with the addresses that a device
// without an IOMMU reaches it at.
#pragma once

#include <vector>

#include "base/os/files.h"

namespace doorbell::os {

// Bytes that follow each other on the bus, too.
struct BusRange {
  u64 address = 0, bytes = 0;
};

class PinnedMemory {
 public:
  // Whole pages, zeroed. It takes the right to see where pages lie (root, CAP_SYS_ADMIN), and a
  // kernel that does not move locked pages; errors say so.
  static Result<PinnedMemory> allocate(Files& files, u64 bytes, bool inherited);

  std::span<u8> bytes() const { return mapping_.bytes(); }
  const std::vector<BusRange>& ranges() const { return ranges_; }

 private:
  Mapping mapping_;
  std::vector<BusRange> ranges_;
};

}  // namespace doorbell::os
