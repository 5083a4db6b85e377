// [torvalds/linux drivers/vfio/container.c, group.c, vfio_iommu_type1.c, pci/vfio_pci_core.c;
// include/uapi/linux/vfio.h]
#include "emulator/amd/bare/vfio_files.h"

#include <cerrno>
#include <iterator>

#include <fmt/format.h>

#include "base/os/vfio_calls.h"
#include "base/util/try.h"
#include "emulator/amd/bare/bare_files.h"

namespace doorbell::emu::amdgpu {

namespace vfio = os::vfio;

namespace {

constexpr const char* kContainer = "/dev/vfio/vfio";
constexpr u64 kPage = BusMemory::kPage, kEndAddress = u64{1} << 39;  // of the emulated IOMMU
constexpr u32 kFirstGroup = 10, kRegions = 9;
constexpr unsigned kRegionBits = 40;  // [vfio_pci_core.h VFIO_PCI_OFFSET_SHIFT]

u64 region_of(u64 offset) { return offset >> kRegionBits; }

}  // namespace

u32 VfioFiles::group_of(const BareGpu& gpu) { return kFirstGroup + gpu.index(); }

std::string VfioFiles::group_path(const BareGpu& gpu) const {
  return fmt::format("/dev/vfio/{}{}", has_iommu_ ? "" : "noiommu-", group_of(gpu));
}

// ---- a device -----------------------------------------------------------------------------------

class VfioFiles::DeviceFile final : public UnsupportedFile {
 public:
  explicit DeviceFile(BareGpu& gpu) : gpu_(gpu) {}
  Result<usize> read_at(u64 offset, std::span<u8> into) override {
    if (region_of(offset) != vfio::kConfigRegion)
      return fail_errno(EINVAL, "read region {}", region_of(offset));
    return make_config_file(gpu_)->read_at(within(offset), into);
  }
  Result<void> write_at(u64 offset, std::span<const u8> bytes) override {
    if (region_of(offset) != vfio::kConfigRegion)
      return fail_errno(EINVAL, "write region {}", region_of(offset));
    return make_config_file(gpu_)->write_at(within(offset), bytes);
  }
  Result<os::Mapping> map(const os::MapRequest& request) override {
    os::MapRequest inner = request;
    inner.offset = within(request.offset);
    return make_region_file(gpu_, static_cast<int>(region_of(request.offset)))->map(inner);
  }
  Result<os::MappedRegisters> map_registers(const os::MapRequest& request) override {
    os::MapRequest inner = request;
    inner.offset = within(request.offset);
    return make_region_file(gpu_, static_cast<int>(region_of(request.offset)))
        ->map_registers(inner);
  }
  Result<int> ioctl(unsigned long request, void* argument) override {
    if (request == vfio::kDeviceGetInfo) {
      auto& info = *static_cast<vfio::DeviceInfo*>(argument);
      if (info.argsz < sizeof info) return fail_errno(EINVAL, "VFIO_DEVICE_GET_INFO");
      info.flags = vfio::kDeviceOfPci;
      info.num_regions = kRegions;
      return 0;
    }
    if (request != vfio::kDeviceGetRegion) return fail_errno(ENOTTY, "ioctl {:#x}", request);
    auto& region = *static_cast<vfio::RegionInfo*>(argument);
    if (region.argsz < sizeof region || region.index >= kRegions)
      return fail_errno(EINVAL, "VFIO_DEVICE_GET_REGION_INFO of {}", region.index);
    region.offset = u64{region.index} << kRegionBits;
    region.size = region.index == 0   ? gpu_.shown_bytes()
                  : region.index == 2 ? BareGpu::kDoorbellBytes
                  : region.index == 5 ? BareGpu::kRegisterBytes
                  : region.index == 7 ? kPage
                                      : 0;
    return 0;
  }

 private:
  static u64 within(u64 offset) { return offset & ((u64{1} << kRegionBits) - 1); }
  BareGpu& gpu_;
};

// ---- a group ------------------------------------------------------------------------------------

class VfioFiles::GroupFile final : public UnsupportedFile {
 public:
  GroupFile(VfioFiles& owner, BareGpu& gpu) : owner_(owner), gpu_(gpu) {}
  ~GroupFile() override {
    std::lock_guard lock(owner_.mutex_);
    gpu_.give_back();
    // The last one takes the container's settings along.
    if (has_container_ && --owner_.groups_ == 0) owner_.is_set_ = false;
  }
  Result<int> ioctl(unsigned long request, void* argument) override {
    std::lock_guard lock(owner_.mutex_);
    if (request == vfio::kGroupGetStatus) {
      auto& status = *static_cast<vfio::GroupStatus*>(argument);
      if (status.argsz < sizeof status) return fail_errno(EINVAL, "VFIO_GROUP_GET_STATUS");
      status.flags = vfio::kGroupViable | (has_container_ ? 2 : 0);
      return 0;
    }
    if (request == vfio::kGroupSetContainer) {
      if (*static_cast<int*>(argument) != kContainerDescriptor)
        return fail_errno(EBADF, "VFIO_GROUP_SET_CONTAINER");
      if (has_container_) return fail_errno(EINVAL, "VFIO_GROUP_SET_CONTAINER twice");
      has_container_ = true;
      ++owner_.groups_;
      return 0;
    }
    if (request != vfio::kGroupGetDevice) return fail_errno(ENOTTY, "ioctl {:#x}", request);
    if (!has_container_ || !owner_.is_set_)
      return fail_errno(EINVAL, "VFIO_GROUP_GET_DEVICE_FD in front of VFIO_SET_IOMMU");
    if (static_cast<const char*>(argument) != address_of(gpu_))
      return fail_errno(ENODEV, "VFIO_GROUP_GET_DEVICE_FD of {}",
                        static_cast<const char*>(argument));
    return kFirstDevice + static_cast<int>(gpu_.index());
  }

 private:
  VfioFiles& owner_;
  BareGpu& gpu_;
  bool has_container_ = false;
};

// ---- the container ------------------------------------------------------------------------------

class VfioFiles::ContainerFile final : public UnsupportedFile {
 public:
  explicit ContainerFile(VfioFiles& owner) : owner_(owner) {}
  int descriptor() const override { return kContainerDescriptor; }
  Result<int> ioctl(unsigned long request, void* argument) override {
    std::lock_guard lock(owner_.mutex_);
    if (request == vfio::kGetApiVersion) return vfio::kApiVersion;
    if (request == vfio::kSetIommu) {
      const usize kind = reinterpret_cast<usize>(argument);
      const int has = owner_.has_iommu_ ? vfio::kType1v2Iommu : vfio::kNoIommu;
      if (owner_.groups_ == 0 || owner_.is_set_ || kind != static_cast<usize>(has))
        return fail_errno(EINVAL, "VFIO_SET_IOMMU {} of {} groups", kind, owner_.groups_);
      owner_.is_set_ = true;
      return 0;
    }
    const bool is_memory = request == vfio::kMapDma || request == vfio::kUnmapDma;
    if (!is_memory || !owner_.has_iommu_ || !owner_.is_set_)
      return fail_errno(is_memory && owner_.has_iommu_ ? EINVAL : ENOTTY, "ioctl {:#x}", request);
    return request == vfio::kMapDma ? owner_.map_dma(argument) : owner_.unmap_dma(argument);
  }

 private:
  VfioFiles& owner_;
};

Result<int> VfioFiles::map_dma(const void* argument) {
  const auto& map = *static_cast<const vfio::DmaMap*>(argument);
  if (map.argsz < sizeof map || map.flags != (vfio::kDmaRead | vfio::kDmaWrite) || map.size == 0 ||
      (map.vaddr | map.iova | map.size) % kPage != 0 || map.iova + map.size > kEndAddress)
    return fail_errno(EINVAL, "VFIO_IOMMU_MAP_DMA of {:#x} bytes at {:#x}", map.size, map.iova);
  const auto after = mapped_.lower_bound(map.iova);
  const bool overlaps = (after != mapped_.end() && after->first < map.iova + map.size) ||
                        (after != mapped_.begin() &&
                         std::prev(after)->first + std::prev(after)->second.bytes > map.iova);
  if (overlaps) return fail_errno(EEXIST, "VFIO_IOMMU_MAP_DMA at {:#x}", map.iova);
  u8* const host = reinterpret_cast<u8*>(map.vaddr);
  bus_.pin_at(map.iova, host, map.size);
  mapped_.emplace(map.iova, Mapped{host, map.size});
  return 0;
}

Result<int> VfioFiles::unmap_dma(const void* argument) {
  const auto& unmap = *static_cast<const vfio::DmaUnmap*>(argument);
  const auto found = mapped_.find(unmap.iova);
  if (unmap.argsz < sizeof unmap || found == mapped_.end() || found->second.bytes != unmap.size)
    return fail_errno(EINVAL, "VFIO_IOMMU_UNMAP_DMA of {:#x} bytes at {:#x}", unmap.size,
                      unmap.iova);
  for (const auto& gpu : gpus_) gpu->host_unpinned(found->second.host, found->second.bytes);
  bus_.unpin(found->second.host);
  mapped_.erase(found);
  return 0;
}

// ---- paths --------------------------------------------------------------------------------------

bool VfioFiles::exists(const std::string& path) const {
  if (path == kContainer) return true;
  for (const auto& gpu : gpus_)
    if (path == group_path(*gpu)) return true;
  return false;
}

Result<std::unique_ptr<os::File>> VfioFiles::open(const std::string& path) {
  if (path == kContainer) return std::make_unique<ContainerFile>(*this);
  for (const auto& gpu : gpus_)
    if (path == group_path(*gpu)) {
      if (!gpu->take()) return fail_errno(EBUSY, "open {}", path);
      return std::make_unique<GroupFile>(*this, *gpu);
    }
  return fail_errno(ENOENT, "open {}", path);
}

std::unique_ptr<os::File> VfioFiles::adopt(int descriptor) {
  const usize index = static_cast<usize>(descriptor - kFirstDevice);
  if (descriptor < kFirstDevice || index >= gpus_.size()) return nullptr;
  return std::make_unique<DeviceFile>(*gpus_[index]);
}

}  // namespace doorbell::emu::amdgpu
