// VfioContainer: devices that the kernel's vfio-pci leaves to this process, and the memory that
// they reach: through an IOMMU, at addresses that the container gives out, or without one
// ("no-IOMMU"), at those of the bus (pinned_memory.h). All groups of a process join one container.
//
// Thread safety: from any thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/os/descriptor_files.h"

namespace doorbell::os {

// Whether vfio-pci has the device in this folder of /sys/bus/pci/devices.
bool is_left_to_vfio(Files& files, const std::string& folder);

class VfioContainer : public std::enable_shared_from_this<VfioContainer> {
 public:
  static Result<std::shared_ptr<VfioContainer>> open(Files& files);

  // The device, by its folder and address; its group joins the container, and stays in it.
  Result<std::unique_ptr<File>> open_device(const std::string& folder, const std::string& address);
  // Of a device that is open: where its region, or its configuration (vfio_calls.h), begins in its
  // file.
  static Result<u64> region_offset(File& device, u32 index);
  // Known when the first device is open.
  bool has_iommu() const;

  // Host memory, while devices reach it at `address`. The kernel keeps it where it is.
  class Dma {
   public:
    Dma() = default;
    Dma(Dma&& other) noexcept { swap(other); }
    Dma& operator=(Dma&& other) noexcept {
      Dma taken(std::move(other));
      swap(taken);
      return *this;
    }
    ~Dma();
    u64 address() const { return address_; }

   private:
    friend class VfioContainer;
    void swap(Dma& other) {
      std::swap(container_, other.container_);
      std::swap(address_, other.address_);
      std::swap(bytes_, other.bytes_);
    }
    std::shared_ptr<VfioContainer> container_;  // memory may outlive who opened the devices
    u64 address_ = 0, bytes_ = 0;
  };
  Result<Dma> map(std::span<u8> memory);

 private:
  enum class Iommu : u8 { Unknown, Type1, None };
  explicit VfioContainer(DescriptorFiles& files) : files_(files) {}
  Result<File*> join_group(const std::string& folder);
  std::optional<u64> take_addresses(u64 bytes);
  void give_back_addresses(u64 address, u64 bytes);

  DescriptorFiles& files_;
  std::unique_ptr<File> container_;
  mutable std::mutex mutex_;                             // guards what follows
  std::map<std::string, std::unique_ptr<File>> groups_;  // by path
  Iommu iommu_ = Iommu::Unknown;
  std::map<u64, u64> free_;  // addresses -> bytes
};

}  // namespace doorbell::os
