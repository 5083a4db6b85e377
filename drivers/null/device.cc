// Sizes without bytes and launches without effect.
#include "drivers/null/device.h"

#include <algorithm>
#include <utility>

#include "base/os/host.h"
#include "base/util/check.h"

namespace doorbell::null {
namespace {

class NullProgram final : public core::Program {
 public:
  NullProgram(std::string name, usize params, usize variables)
      : name_(std::move(name)), params_(params), variables_(variables) {}

  Result<void> launch(std::span<const core::BufferView> buffers,
                      std::span<const i64> variables) override {
    CHECK(buffers.size() == params_ && variables.size() == variables_,
          "kernel {} with {} buffers and {} variables, expected {} and {}", name_, buffers.size(),
          variables.size(), params_, variables_);
    return {};
  }

 private:
  const std::string name_;
  const usize params_, variables_;
};

// Distinct, so that errors can name buffers. Threads take them by the block.
u64 take_addresses(u64 size) {
  constexpr u64 kBlock = u64{1} << 36;
  static constinit std::atomic<u64> next_block{u64{1} << 32};
  static constinit thread_local u64 next = 0, left = 0;
  if (size > left) [[unlikely]] {
    left = std::max(size, kBlock);
    next = next_block.fetch_add(left, std::memory_order_relaxed);
  }
  left -= size;
  return std::exchange(next, next + size);
}

}  // namespace

Result<core::Allocation> NullAllocator::allocate(i64 bytes) {
  const i64 in_use = in_use_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  i64 peak = peak_.load(std::memory_order_relaxed);
  while (peak < in_use && !peak_.compare_exchange_weak(peak, in_use, std::memory_order_relaxed)) {
  }
  const u64 size = (static_cast<u64>(bytes) + 4096) / 4096 * 4096;
  return core::Allocation{nullptr, take_addresses(size), nullptr, bytes};
}

void NullAllocator::release(const core::Allocation& allocation) {
  in_use_.fetch_sub(allocation.bytes, std::memory_order_relaxed);
}

Result<void> NullAllocator::copy_out(void*, const core::Allocation&, i64, i64 bytes) {
  Error error = fail(ErrorKind::Unsupported,
                     "{} bytes cannot be read from {}: its kernels never run, so its memory has no "
                     "contents",
                     bytes, device_);
  error.device = device_;
  return error;
}

core::MemoryStats NullAllocator::stats() const {
  return {in_use_.load(std::memory_order_relaxed), 0, peak_.load(std::memory_order_relaxed)};
}

NullDevice::NullDevice(core::DeviceSpec spec) : Device(std::move(spec)), allocator_(name()) {
  hcq::Queue::Parts parts;
  parts.device = name();
  parts.name = "compute";
  parts.memory = &queue_memory_;
  parts.signals = &signals_;
  parts.clock = &os::host_clock();
  queue_ = *NullQueue::make(std::move(parts));
}

Result<std::unique_ptr<core::Program>> NullDevice::load(const core::Binary& binary) {
  return std::unique_ptr<core::Program>(
      std::make_unique<NullProgram>(binary.name, binary.param_count, binary.variable_count));
}

}  // namespace doorbell::null
