// The ioctls of KFD that are newer than the oldest header of a supported distribution (Debian 12:
// version 1.11), against the numbers of torvalds/linux's of version 1.17. All others:
// tests/packaged_headers.
#include "drivers/amd/hw/kfd.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace doorbell::amd::hw {
namespace {

// Evaluated from the header's macros.
TEST(Kfd, RequestsOfNewerKernels) {
  EXPECT_EQ(kRequest<KfdCreateQueue>, 0xc0604b02u);  // 1.17: 96 bytes
  EXPECT_EQ(kRequest<KfdExportDmabuf>, 0xc0104b24u);
  EXPECT_EQ(kRequest<KfdRuntimeEnable>, 0xc0104b25u);
}

TEST(Kfd, EveryRequestIsNamedOnce) {
  std::vector<u32> requests;
  for_each_kfd_ioctl([&]<class T>(const T&) { requests.push_back(kRequest<T>); });
  std::sort(requests.begin(), requests.end());
  EXPECT_EQ(std::adjacent_find(requests.begin(), requests.end()), requests.end());
  EXPECT_EQ(requests.size(), 31u);
}

}  // namespace
}  // namespace doorbell::amd::hw
