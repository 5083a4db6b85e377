// The driver of Abacus: its device, memory and programs, as Doorbell's engine sees them. A real
// driver would call the operating system here; this one calls chip.h.
#pragma once

#include <mutex>
#include <optional>

#include "examples/backend/chip.h"
#include "hcq/memory/tlsf.h"
#include "hcq/software/launch_device.h"

namespace doorbell::abacus {

class AbacusDevice;

class AbacusMemory final : public core::Allocator {
 public:
  explicit AbacusMemory(AbacusDevice& device);

  Result<core::Allocation> allocate(i64 bytes) override;
  void release(const core::Allocation& allocation) override;
  Result<void> copy_in(const core::Allocation& to, i64 offset, const void* from,
                       i64 bytes) override;
  Result<void> copy_out(void* to, const core::Allocation& from, i64 offset, i64 bytes) override;
  Result<void> copy(const core::Allocation& to, i64 to_offset, const core::Allocation& from,
                    i64 from_offset, i64 bytes) override;
  core::MemoryStats stats() const override;

 private:
  AbacusDevice& device_;
  mutable std::mutex mutex_;  // guards the members below
  hcq::Tlsf places_;
  core::MemoryStats stats_;
};

class AbacusDevice final : public hcq::LaunchDevice {
 public:
  static constexpr i64 kMemoryBytes = i64{256} << 20;

  explicit AbacusDevice(core::DeviceSpec spec)
      : LaunchDevice(std::move(spec)), chip_(kMemoryBytes), memory_(*this) {}
  ~AbacusDevice() override { stop_queue(); }

  core::Allocator& allocator() override { return memory_; }
  Result<std::unique_ptr<core::Program>> load(const core::Binary& binary) override;
  // The first fault since the last call.
  Result<void> finish() override;
  std::string description() const override { return "one core, 256 MiB"; }

  Chip& chip() { return chip_; }
  void run(const Code& code, std::span<const u64> buffers, std::span<const i64> variables);

 private:
  Chip chip_;
  AbacusMemory memory_;
  std::mutex mutex_;  // guards fault_
  std::optional<Error> fault_;
};

}  // namespace doorbell::abacus
