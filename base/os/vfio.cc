// [torvalds/linux Documentation/driver-api/vfio.rst, "VFIO Usage Example"; uapi/linux/vfio.h;
// drivers/vfio/container.c vfio_ioctl_set_iommu(), vfio_iommu_type1.c vfio_dma_do_map(), group.c
// vfio_group_ioctl_get_device_fd(); /dev/vfio/noiommu-N: awilliam/tests
// vfio-noiommu-pci-device-open.c]
#include "base/os/vfio.h"

#include <cerrno>
#include <iterator>

#include <fmt/format.h>

#include "base/os/vfio_calls.h"
#include "base/util/try.h"

namespace doorbell::os {
namespace {

constexpr const char* kContainer = "/dev/vfio/vfio";
// Addresses for devices: above the first 4 GiB, where interrupts have theirs, and within 39 bits,
// which every IOMMU has.
constexpr u64 kFirstAddress = u64{1} << 32, kEndAddress = u64{1} << 38;

std::string last_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

bool is_left_to_vfio(Files& files, const std::string& folder) {
  const Result<FileStatus> driver = files.status(folder + "/driver");
  return files.exists(folder + "/driver") && driver && last_name(driver->path) == "vfio-pci";
}

Result<std::shared_ptr<VfioContainer>> VfioContainer::open(Files& files) {
  auto* const door = dynamic_cast<DescriptorFiles*>(&files);
  if (door == nullptr)
    return fail(ErrorKind::Unsupported, "VFIO through files without descriptors");
  std::shared_ptr<VfioContainer> container(new VfioContainer(*door));
  Result<std::unique_ptr<File>> file = files.open(kContainer, Access::ReadWrite);
  if (!file)
    return fail(file.error().kind, "VFIO: {}; it takes the module vfio and the right to its files",
                file.error().message);
  container->container_ = std::move(*file);
  TRY(const int version, container->container_->ioctl(vfio::kGetApiVersion, nullptr));
  if (version != vfio::kApiVersion)
    return fail(ErrorKind::Unsupported, "VFIO has interface {}, expected {}", version,
                vfio::kApiVersion);
  container->free_.emplace(kFirstAddress, kEndAddress - kFirstAddress);
  return container;
}

// Under mutex_. A group is all devices that the IOMMU cannot tell apart: each must be left to VFIO.
Result<File*> VfioContainer::join_group(const std::string& folder) {
  TRY(const FileStatus link, files_.status(folder + "/iommu_group"));
  const std::string number = last_name(link.path);
  const std::string without = fmt::format("/dev/vfio/noiommu-{}", number);
  const bool has_iommu = !files_.exists(without);
  const std::string path = has_iommu ? fmt::format("/dev/vfio/{}", number) : without;
  if (const auto found = groups_.find(path); found != groups_.end()) return found->second.get();
  Result<std::unique_ptr<File>> group = files_.open(path, Access::ReadWrite);
  if (!group)
    return fail(group.error().kind, "{}: it is used by another process, or takes the right to {}",
                group.error().message, path);
  vfio::GroupStatus status;
  TRY((*group)->ioctl(vfio::kGroupGetStatus, &status));
  if ((status.flags & vfio::kGroupViable) == 0)
    return fail(ErrorKind::Busy,
                "IOMMU group {} has devices that another driver has: bind all of "
                "{}/iommu_group/devices to vfio-pci, or to none",
                number, folder);
  int descriptor = container_->descriptor();
  TRY((*group)->ioctl(vfio::kGroupSetContainer, &descriptor));
  if (iommu_ == Iommu::Unknown) {
    const int kind = has_iommu ? vfio::kType1v2Iommu : vfio::kNoIommu;
    // The argument is the number itself.
    TRY(container_->ioctl(vfio::kSetIommu, reinterpret_cast<void*>(static_cast<usize>(kind))));
    iommu_ = has_iommu ? Iommu::Type1 : Iommu::None;
  }
  return groups_.emplace(path, std::move(*group)).first->second.get();
}

Result<std::unique_ptr<File>> VfioContainer::open_device(const std::string& folder,
                                                         const std::string& address) {
  std::lock_guard lock(mutex_);
  TRY(File* const group, join_group(folder));
  std::string name = address;
  Result<int> descriptor = group->ioctl(vfio::kGroupGetDevice, name.data());
  if (!descriptor)
    return fail(descriptor.error().kind, "PCI device {} of VFIO: {}", address,
                descriptor.error().message);
  TRY(std::unique_ptr<File> device, files_.adopt(*descriptor, "PCI device " + address));
  vfio::DeviceInfo info;
  TRY(device->ioctl(vfio::kDeviceGetInfo, &info));
  if ((info.flags & vfio::kDeviceOfPci) == 0 || info.num_regions <= vfio::kConfigRegion)
    return fail(ErrorKind::Unsupported, "PCI device {} of VFIO has flags {:#x} and {} regions",
                address, info.flags, info.num_regions);
  return device;
}

Result<u64> VfioContainer::region_offset(File& device, u32 index) {
  vfio::RegionInfo info;
  info.index = index;
  TRY(device.ioctl(vfio::kDeviceGetRegion, &info));
  return info.offset;
}

bool VfioContainer::has_iommu() const {
  std::lock_guard lock(mutex_);
  return iommu_ == Iommu::Type1;
}

// ---- memory -------------------------------------------------------------------------------------

std::optional<u64> VfioContainer::take_addresses(u64 bytes) {
  for (auto found = free_.begin(); found != free_.end(); ++found) {
    const auto [address, free] = *found;
    if (free < bytes) continue;
    free_.erase(found);
    if (free > bytes) free_.emplace(address + bytes, free - bytes);
    return address;
  }
  return std::nullopt;
}

void VfioContainer::give_back_addresses(u64 address, u64 bytes) {
  auto after = free_.lower_bound(address);
  if (after != free_.end() && after->first == address + bytes) {
    bytes += after->second;
    after = free_.erase(after);
  }
  if (after != free_.begin())
    if (const auto before = std::prev(after); before->first + before->second == address) {
      before->second += bytes;
      return;
    }
  free_.emplace(address, bytes);
}

Result<VfioContainer::Dma> VfioContainer::map(std::span<u8> memory) {
  std::lock_guard lock(mutex_);
  const std::optional<u64> address = take_addresses(memory.size());
  if (!address)
    return fail(ErrorKind::OutOfMemory, "devices have no {} bytes of addresses left",
                memory.size());
  vfio::DmaMap request;
  request.flags = vfio::kDmaRead | vfio::kDmaWrite;
  request.vaddr = reinterpret_cast<u64>(memory.data());
  request.iova = *address;
  request.size = memory.size();
  if (Result<int> mapped = container_->ioctl(vfio::kMapDma, &request); !mapped) {
    give_back_addresses(*address, memory.size());
    if (mapped.error().os_errno != ENOMEM) return std::move(mapped).error();
    return fail(ErrorKind::OutOfMemory,
                "{} bytes for devices to reach: the limit of locked memory may be too low (ulimit "
                "-l), or the IOMMU's tables full: {}",
                memory.size(), mapped.error().message);
  }
  Dma dma;
  dma.container_ = shared_from_this();
  dma.address_ = *address;
  dma.bytes_ = memory.size();
  return dma;
}

VfioContainer::Dma::~Dma() {
  if (container_ == nullptr) return;
  std::lock_guard lock(container_->mutex_);
  vfio::DmaUnmap request;
  request.iova = address_;
  request.size = bytes_;
  // Addresses that the kernel did not take back are not given out again.
  if (container_->container_->ioctl(vfio::kUnmapDma, &request))
    container_->give_back_addresses(address_, bytes_);
}

}  // namespace doorbell::os
