// The DISK device: its memory consists of parts of files (core/device/stored_file.h), which it
// reads and writes in place and never maps, so that truncating a file in use is an error and does
// not end the process. It has no memory without a file, and computes nothing.
#pragma once

#include "core/device/device.h"

namespace doorbell::disk {

class DiskAllocator final : public core::Allocator {
 public:
  Result<core::Allocation> allocate(i64 bytes) override;
  void release(const core::Allocation&) override {}
  Result<void> copy_in(const core::Allocation& to, i64 offset, const void* from,
                       i64 bytes) override;
  Result<void> copy_out(void* to, const core::Allocation& from, i64 offset, i64 bytes) override;
  Result<void> copy(const core::Allocation& to, i64 to_offset, const core::Allocation& from,
                    i64 from_offset, i64 bytes) override;
  core::MemoryStats stats() const override { return {}; }
};

class DiskDevice final : public core::Device {
 public:
  using core::Device::Device;

  core::Allocator& allocator() override { return allocator_; }
  Result<std::unique_ptr<core::Program>> load(const core::Binary& binary) override;
  Result<void> synchronize() override { return {}; }
  std::string description() const override { return "tensors on files"; }

 private:
  DiskAllocator allocator_;
};

}  // namespace doorbell::disk
