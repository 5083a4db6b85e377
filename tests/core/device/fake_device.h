// A device for tests of core/device: host memory up to a limit, every driver call counted.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

#include "core/device/caching_allocator.h"
#include "core/device/device.h"

namespace doorbell::core {

// Shared by a test and the allocator it gives away.
struct FakeMemory {
  i64 limit = INT64_MAX;
  i64 held = 0;
  int allocations = 0, releases = 0;
};

class FakeAllocator final : public Allocator {
 public:
  FakeAllocator(FakeMemory* memory, bool host_visible)
      : memory_(memory), host_visible_(host_visible) {}

  Result<Allocation> allocate(i64 bytes) override {
    ++memory_->allocations;
    if (memory_->held + bytes > memory_->limit)
      return fail(ErrorKind::OutOfMemory, "limit is {} bytes", memory_->limit);
    memory_->held += bytes;
    blocks_.push_back(std::make_unique<std::byte[]>(static_cast<usize>(bytes) + 1));
    void* block = blocks_.back().get();
    return Allocation{host_visible_ ? block : nullptr, 0, block, bytes};
  }
  void release(const Allocation& allocation) override {
    ++memory_->releases;
    memory_->held -= allocation.bytes;
    std::erase_if(blocks_, [&](const auto& block) { return block.get() == allocation.opaque; });
  }
  Result<void> copy_in(const Allocation& to, i64 offset, const void* from, i64 bytes) override {
    std::memcpy(static_cast<u8*>(to.opaque) + offset, from, static_cast<usize>(bytes));
    return {};
  }
  Result<void> copy_out(void* to, const Allocation& from, i64 offset, i64 bytes) override {
    std::memcpy(to, static_cast<u8*>(from.opaque) + offset, static_cast<usize>(bytes));
    return {};
  }
  Result<void> copy(const Allocation& to, i64 to_offset, const Allocation& from, i64 from_offset,
                    i64 bytes) override {
    std::memmove(static_cast<u8*>(to.opaque) + to_offset,
                 static_cast<u8*>(from.opaque) + from_offset, static_cast<usize>(bytes));
    return {};
  }
  MemoryStats stats() const override { return {memory_->held, 0, 0}; }

 private:
  FakeMemory* memory_;
  bool host_visible_;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;  // tests may leave theirs to us
};

class FakeDevice final : public Device {
 public:
  explicit FakeDevice(DeviceSpec spec, FakeMemory* memory, bool host_visible = true)
      : Device(std::move(spec)),
        allocator_(name(), std::make_unique<FakeAllocator>(memory, host_visible), i64{1} << 20) {}

  Allocator& allocator() override { return allocator_; }
  Result<std::unique_ptr<Program>> load(const Binary& binary) override {
    return fail(ErrorKind::Unsupported, "cannot load {}", binary.name);
  }
  Result<void> synchronize() override { return {}; }
  std::string description() const override { return "a fake"; }

 private:
  CachingAllocator allocator_;
};

}  // namespace doorbell::core
