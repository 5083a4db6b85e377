// The calls of VFIO are the kernel's, and the addresses that a container gives out never overlap.
#include "base/os/vfio.h"

#include <linux/vfio.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include <gtest/gtest.h>

#include "base/os/forwarded_files.h"
#include "base/os/vfio_calls.h"
#include "tests/support/fake_system.h"

namespace doorbell::os {
namespace {

TEST(VfioCalls, AreTheKernels) {
  EXPECT_EQ(vfio::kApiVersion, VFIO_API_VERSION);
  EXPECT_EQ(vfio::kType1v2Iommu, VFIO_TYPE1v2_IOMMU);
  EXPECT_EQ(vfio::kNoIommu, VFIO_NOIOMMU_IOMMU);
  EXPECT_EQ(vfio::kGetApiVersion, VFIO_GET_API_VERSION);
  EXPECT_EQ(vfio::kSetIommu, VFIO_SET_IOMMU);
  EXPECT_EQ(vfio::kMapDma, VFIO_IOMMU_MAP_DMA);
  EXPECT_EQ(vfio::kUnmapDma, VFIO_IOMMU_UNMAP_DMA);
  EXPECT_EQ(vfio::kGroupGetStatus, VFIO_GROUP_GET_STATUS);
  EXPECT_EQ(vfio::kGroupSetContainer, VFIO_GROUP_SET_CONTAINER);
  EXPECT_EQ(vfio::kGroupGetDevice, VFIO_GROUP_GET_DEVICE_FD);
  EXPECT_EQ(vfio::kDeviceGetInfo, VFIO_DEVICE_GET_INFO);
  EXPECT_EQ(vfio::kDeviceGetRegion, VFIO_DEVICE_GET_REGION_INFO);
  EXPECT_EQ(vfio::kGroupViable, u32{VFIO_GROUP_FLAGS_VIABLE});
  EXPECT_EQ(vfio::kDeviceOfPci, u32{VFIO_DEVICE_FLAGS_PCI});
  EXPECT_EQ(vfio::kConfigRegion, u32{VFIO_PCI_CONFIG_REGION_INDEX});
  EXPECT_EQ(vfio::kDmaRead, u32{VFIO_DMA_MAP_FLAG_READ});
  EXPECT_EQ(vfio::kDmaWrite, u32{VFIO_DMA_MAP_FLAG_WRITE});
}

TEST(VfioCalls, HaveTheKernelsArguments) {
  EXPECT_EQ(sizeof(vfio::GroupStatus), sizeof(vfio_group_status));
  EXPECT_EQ(offsetof(vfio::GroupStatus, flags), offsetof(vfio_group_status, flags));
  EXPECT_EQ(offsetof(vfio::DeviceInfo, flags), offsetof(vfio_device_info, flags));
  EXPECT_EQ(offsetof(vfio::DeviceInfo, num_regions), offsetof(vfio_device_info, num_regions));
  // The kernel asks for no more than the first four words.
  EXPECT_EQ(sizeof(vfio::DeviceInfo), offsetof(vfio_device_info, num_irqs) + sizeof(u32));
  EXPECT_EQ(sizeof(vfio::RegionInfo), sizeof(vfio_region_info));
  EXPECT_EQ(offsetof(vfio::RegionInfo, index), offsetof(vfio_region_info, index));
  EXPECT_EQ(offsetof(vfio::RegionInfo, size), offsetof(vfio_region_info, size));
  EXPECT_EQ(offsetof(vfio::RegionInfo, offset), offsetof(vfio_region_info, offset));
  EXPECT_EQ(sizeof(vfio::DmaMap), sizeof(vfio_iommu_type1_dma_map));
  EXPECT_EQ(offsetof(vfio::DmaMap, vaddr), offsetof(vfio_iommu_type1_dma_map, vaddr));
  EXPECT_EQ(offsetof(vfio::DmaMap, iova), offsetof(vfio_iommu_type1_dma_map, iova));
  EXPECT_EQ(offsetof(vfio::DmaMap, size), offsetof(vfio_iommu_type1_dma_map, size));
  EXPECT_EQ(sizeof(vfio::DmaUnmap), sizeof(vfio_iommu_type1_dma_unmap));
  EXPECT_EQ(offsetof(vfio::DmaUnmap, iova), offsetof(vfio_iommu_type1_dma_unmap, iova));
  EXPECT_EQ(offsetof(vfio::DmaUnmap, size), offsetof(vfio_iommu_type1_dma_unmap, size));
}

// A container that takes every mapping but those that the test refuses.
struct Container final : ForwardedFiles {
  explicit Container(Files& inner) : ForwardedFiles(inner) {}
  int version = 0, why_not = 0;
  std::vector<vfio::DmaMap> mapped;

  struct Calls final : File {
    explicit Calls(Container& owner) : owner(owner) {}
    Result<usize> read_at(u64, std::span<u8>) override { return fail_errno(EINVAL, "read"); }
    Result<void> write_at(u64, std::span<const u8>) override { return fail_errno(EINVAL, "write"); }
    Result<u64> size() override { return u64{0}; }
    Result<Mapping> map(const MapRequest&) override { return fail_errno(EINVAL, "map"); }
    Result<int> ioctl(unsigned long request, void* argument) override {
      if (request == VFIO_GET_API_VERSION) return owner.version;
      if (request == VFIO_IOMMU_MAP_DMA) {
        if (owner.why_not != 0) return fail_errno(owner.why_not, "map for devices");
        owner.mapped.push_back(*static_cast<vfio::DmaMap*>(argument));
        return 0;
      }
      const auto& unmap = *static_cast<vfio::DmaUnmap*>(argument);
      EXPECT_EQ(request, static_cast<unsigned long>(VFIO_IOMMU_UNMAP_DMA));
      EXPECT_EQ(std::erase_if(owner.mapped,
                              [&](const vfio::DmaMap& map) {
                                return map.iova == unmap.iova && map.size == unmap.size;
                              }),
                1u);
      return 0;
    }
    int descriptor() const override { return 5; }
    Container& owner;
  };
  Result<std::unique_ptr<File>> open(const std::string& path, Access access) override {
    if (path == "/dev/vfio/vfio") return std::make_unique<Calls>(*this);
    return ForwardedFiles::open(path, access);
  }
};

TEST(VfioTest, GivesEachMappingAddressesOfItsOwn) {
  ::doorbell::testing::FakeFiles nothing;
  Container files(nothing);
  auto container = VfioContainer::open(files);
  ASSERT_TRUE(container) << container.error().message;
  std::vector<u8> memory(16 << 12);
  std::vector<VfioContainer::Dma> held(8);
  u64 state = 1;
  for (int turn = 0; turn < 2000; ++turn) {
    state = state * 6364136223846793005 + 1442695040888963407;
    const usize slot = state >> 33 & 7, pages = (state >> 40 & 15) + 1;
    held[slot] = {};
    auto dma = (*container)->map(std::span(memory).first(pages << 12));
    ASSERT_TRUE(dma) << dma.error().message;
    held[slot] = std::move(*dma);
    std::vector<vfio::DmaMap> sorted = files.mapped;
    std::ranges::sort(sorted, {}, &vfio::DmaMap::iova);
    for (usize i = 0; i < sorted.size(); ++i) {
      EXPECT_GE(sorted[i].iova, u64{1} << 32);
      EXPECT_LE(sorted[i].iova + sorted[i].size, u64{1} << 38);
      if (i > 0) {
        ASSERT_LE(sorted[i - 1].iova + sorted[i - 1].size, sorted[i].iova);
      }
    }
  }
  held.clear();
  EXPECT_TRUE(files.mapped.empty());
  // All of it is one piece again.
  const std::span<u8> huge(memory.data(), (u64{1} << 38) - (u64{1} << 32));
  EXPECT_TRUE((*container)->map(huge));
}

TEST(VfioTest, TellsWhatIsMissing) {
  ::doorbell::testing::FakeFiles nothing;
  const auto none = VfioContainer::open(nothing);
  ASSERT_FALSE(none);
  Container files(nothing);
  files.version = 7;
  const auto other = VfioContainer::open(files);
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("interface 7, expected 0"), std::string::npos);
  files.version = 0;
  auto container = *VfioContainer::open(files);
  files.why_not = ENOMEM;
  std::vector<u8> memory(4096);
  const auto full = container->map(memory);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().kind, ErrorKind::OutOfMemory);
  EXPECT_NE(full.error().message.find("ulimit -l"), std::string::npos) << full.error().message;
}

}  // namespace
}  // namespace doorbell::os
