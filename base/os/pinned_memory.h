// PinnedMemory: memory of this process that stays where it is, with the addresses that a device
// reaches it at: its places on the bus, or those that a VFIO container with an IOMMU gave it.
#pragma once

#include <vector>

#include "base/os/vfio.h"

namespace doorbell::os {

// Bytes that follow each other on the bus, too.
struct BusRange {
  u64 address = 0, bytes = 0;
};

class PinnedMemory {
 public:
  // Whole pages, zeroed. It takes the right to see where pages lie (root, CAP_SYS_ADMIN), and a
  // kernel that does not move locked pages; errors say so.
  // Through a container that has an IOMMU it takes neither.
  static Result<PinnedMemory> allocate(Files& files, u64 bytes, bool inherited,
                                       VfioContainer* vfio = nullptr);

  std::span<u8> bytes() const { return mapping_.bytes(); }
  const std::vector<BusRange>& ranges() const { return ranges_; }

 private:
  Result<void> find_on_bus(Files& files);

  Mapping mapping_;
  VfioContainer::Dma dma_;  // goes before the memory
  std::vector<BusRange> ranges_;
};

}  // namespace doorbell::os
