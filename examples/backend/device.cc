// Memory by TLSF over the chip's addresses; programs checked once, when they are loaded.
#include "examples/backend/device.h"

#include "base/util/check.h"
#include "base/util/try.h"

namespace doorbell::abacus {

namespace {

class AbacusProgram final : public core::Program {
 public:
  AbacusProgram(AbacusDevice& device, const core::Binary& binary, Code code)
      : device_(device), name_(binary.name), code_(std::move(code)) {}

  Result<void> launch(std::span<const core::BufferView> buffers,
                      std::span<const i64> variables) override {
    std::vector<u64> addresses;
    for (const core::BufferView& view : buffers) {
      CHECK(&view.buffer->device() == &device_, "kernel {}: memory of {} on {}", name_,
            view.buffer->device().name(), device_.name());
      addresses.push_back(view.buffer->memory().address + static_cast<u64>(view.offset));
    }
    device_.run(code_, addresses, variables);
    return {};
  }

 private:
  AbacusDevice& device_;
  const std::string name_;
  const Code code_;
};

}  // namespace

AbacusMemory::AbacusMemory(AbacusDevice& device)
    : device_(device), places_(0, AbacusDevice::kMemoryBytes, 64) {}

Result<core::Allocation> AbacusMemory::allocate(i64 bytes) {
  std::lock_guard lock(mutex_);
  const std::optional<u64> place = places_.allocate(static_cast<u64>(std::max<i64>(bytes, 1)));
  if (!place)
    return fail(ErrorKind::OutOfMemory, "{}: no place for {} bytes, {} of {} are in use",
                device_.name(), bytes, stats_.in_use, AbacusDevice::kMemoryBytes);
  stats_.in_use += bytes;
  stats_.peak = std::max(stats_.peak, stats_.in_use);
  return core::Allocation{.host = nullptr, .address = *place, .opaque = nullptr, .bytes = bytes};
}

void AbacusMemory::release(const core::Allocation& allocation) {
  std::lock_guard lock(mutex_);
  places_.release(allocation.address);
  stats_.in_use -= allocation.bytes;
}

Result<void> AbacusMemory::copy_in(const core::Allocation& to, i64 offset, const void* from,
                                   i64 bytes) {
  return device_.chip().write(to.address + static_cast<u64>(offset), from, bytes);
}

Result<void> AbacusMemory::copy_out(void* to, const core::Allocation& from, i64 offset, i64 bytes) {
  return device_.chip().read(to, from.address + static_cast<u64>(offset), bytes);
}

Result<void> AbacusMemory::copy(const core::Allocation& to, i64 to_offset,
                                const core::Allocation& from, i64 from_offset, i64 bytes) {
  return device_.chip().move(to.address + static_cast<u64>(to_offset),
                             from.address + static_cast<u64>(from_offset), bytes);
}

core::MemoryStats AbacusMemory::stats() const {
  std::lock_guard lock(mutex_);
  return stats_;
}

Result<std::unique_ptr<core::Program>> AbacusDevice::load(const core::Binary& binary) {
  TRY(Code code, decode(binary.image));
  return std::unique_ptr<core::Program>(
      std::make_unique<AbacusProgram>(*this, binary, std::move(code)));
}

void AbacusDevice::run(const Code& code, std::span<const u64> buffers,
                       std::span<const i64> variables) {
  Result<void> done = chip_.run(code, buffers, variables);
  std::lock_guard lock(mutex_);
  if (!done && !fault_) fault_ = std::move(done).error();
}

Result<void> AbacusDevice::finish() {
  std::lock_guard lock(mutex_);
  if (!fault_) return {};
  Error fault = *std::exchange(fault_, std::nullopt);
  return fault;
}

}  // namespace doorbell::abacus
