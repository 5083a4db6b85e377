// DeviceMemory: memory of a device as the host reaches it: mapped, or by transfers over a bus that
// maps nothing (USB). Beside Mmio it moves many bytes at once, and says what went wrong on the way.
//
// Memory ordering: that of Mmio.
#pragma once

#include <cstring>
#include <span>

#include "base/os/files.h"
#include "base/os/mmio.h"
#include "base/util/result.h"

namespace doorbell::os {

// A region that is reached by transfers. Offsets and sizes are multiples of 4.
class BlockTrap : public MmioTrap {
 public:
  virtual void read_bytes(u64 offset, std::span<u8> into) = 0;
  virtual void write_bytes(u64 offset, std::span<const u8> bytes) = 0;
  // The first error of an access. Reads since then gave all ones, writes went nowhere.
  virtual Result<void> state() = 0;

  u64 read(u64 offset, unsigned bytes) final {
    u64 value = 0;
    read_bytes(offset, {reinterpret_cast<u8*>(&value), bytes});
    return value;
  }
  void write(u64 offset, unsigned bytes, u64 value) final {
    write_bytes(offset, {reinterpret_cast<const u8*>(&value), bytes});
  }
};

class DeviceMemory {
 public:
  DeviceMemory() = default;
  // Borrowed, as Mmio has it.
  DeviceMemory(u8* mapped, u64 size) : mmio_(mapped, size), mapped_(mapped) {}
  DeviceMemory(BlockTrap& trap, u64 size) : mmio_(trap, size), trap_(&trap) {}

  u64 size() const { return mmio_.size(); }
  // Null where it is reached by transfers.
  u8* mapped() const { return mapped_; }

  u32 read32(u64 offset) const { return mmio_.read32(offset); }
  u64 read64(u64 offset) const { return mmio_.read64(offset); }
  void write32(u64 offset, u32 value) const { mmio_.write32(offset, value); }
  void write64(u64 offset, u64 value) const { mmio_.write64(offset, value); }
  // Offset and size are multiples of 4.
  void read_bytes(u64 offset, std::span<u8> into) const {
    check(offset, into.size());
    if (mapped_ != nullptr)
      std::memcpy(into.data(), mapped_ + offset, into.size());
    else
      trap_->read_bytes(base_ + offset, into);
  }
  void write_bytes(u64 offset, std::span<const u8> bytes) const {
    check(offset, bytes.size());
    if (mapped_ != nullptr)
      std::memcpy(mapped_ + offset, bytes.data(), bytes.size());
    else
      trap_->write_bytes(base_ + offset, bytes);
  }
  // Of mapped memory there is nothing to say.
  Result<void> state() const { return trap_ == nullptr ? Result<void>() : trap_->state(); }

  // A part of it, with offsets of its own.
  DeviceMemory window(u64 offset, u64 size) const {
    DeviceMemory part = *this;
    part.mmio_ = mmio_.window(offset, size);
    part.base_ += offset;
    if (mapped_ != nullptr) part.mapped_ += offset;
    return part;
  }

 private:
  void check(u64 offset, u64 bytes) const {
    DOORBELL_CHECK(
        offset % 4 == 0 && bytes % 4 == 0 && offset <= size() && bytes <= size() - offset,
        "{:#x} bytes at {:#x} of a memory of {:#x}", bytes, offset, size());
  }

  Mmio mmio_;
  u8* mapped_ = nullptr;
  BlockTrap* trap_ = nullptr;
  u64 base_ = 0;  // in the trap's region
};

// While `mapping` lives.
struct MappedMemory {
  Mapping mapping;
  DeviceMemory memory;
};

// A File that gives memory by transfers, as its map() cannot.
class RemoteFile {
 public:
  virtual ~RemoteFile() = default;
  virtual Result<MappedMemory> map_remote(const MapRequest& request) = 0;
};

}  // namespace doorbell::os
