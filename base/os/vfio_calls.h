// The calls of /dev/vfio that this project makes, and what their arguments look like.
// [torvalds/linux include/uapi/linux/vfio.h, with whose names and numbers a test compares these;
// Documentation/driver-api/vfio.rst]
#pragma once

#include "base/util/types.h"

namespace doorbell::os::vfio {

// _IO(';', 100 + n): none of them tells the size of its argument, the first word of which does.
constexpr unsigned long call(unsigned n) { return ';' << 8 | (100 + n); }

inline constexpr int kApiVersion = 0, kType1v2Iommu = 3, kNoIommu = 8;
// Of the container, /dev/vfio/vfio.
inline constexpr unsigned long kGetApiVersion = call(0), kSetIommu = call(2), kMapDma = call(13),
                               kUnmapDma = call(14);
// Of a group, /dev/vfio/N; a device's name leads to its descriptor.
inline constexpr unsigned long kGroupGetStatus = call(3), kGroupSetContainer = call(4),
                               kGroupGetDevice = call(6);
// Of a device.
inline constexpr unsigned long kDeviceGetInfo = call(7), kDeviceGetRegion = call(8);

inline constexpr u32 kGroupViable = 1, kDeviceOfPci = 2, kConfigRegion = 7;
inline constexpr u32 kDmaRead = 1, kDmaWrite = 2;

struct GroupStatus {
  u32 argsz = sizeof(GroupStatus), flags = 0;
};
struct DeviceInfo {
  u32 argsz = sizeof(DeviceInfo), flags = 0, num_regions = 0, num_irqs = 0;
};
struct RegionInfo {
  u32 argsz = sizeof(RegionInfo), flags = 0, index = 0, cap_offset = 0;
  u64 size = 0, offset = 0;
};
struct DmaMap {
  u32 argsz = sizeof(DmaMap), flags = 0;
  u64 vaddr = 0, iova = 0, size = 0;
};
struct DmaUnmap {
  u32 argsz = sizeof(DmaUnmap), flags = 0;
  u64 iova = 0, size = 0;
};

}  // namespace doorbell::os::vfio
