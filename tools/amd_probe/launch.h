// Launcher: runs the probe's kernels on a device of their own.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/util/try.h"
#include "core/device/buffer.h"
#include "tools/amd_probe/card.h"
#include "tools/amd_probe/kernels.h"

namespace doorbell::tools {

class Launcher {
 public:
  static Result<Launcher> make(const Card& card) {
    TRY(std::unique_ptr<amd::AmdDevice> device, card.open_device(card.options.timeout_ns));
    return Launcher(card, std::move(device));
  }

  amd::AmdDevice& device() const { return *device_; }
  bool is_aql() const { return device_->launch_queue().hardware().type() == amd::QueueType::Aql; }

  // In the GPU's memory, with a copy of `values`.
  template <class T>
  Result<core::Ref<core::Buffer>> buffer(std::span<T> values) const {
    TRY(core::Ref<core::Buffer> made,
        core::Buffer::allocate(*device_, static_cast<i64>(values.size_bytes())));
    TRY(made->copy_in(values.data(), values.size_bytes()));
    return made;
  }
  template <class T>
  Result<void> read(core::Buffer& buffer, std::span<T> values) const {
    return buffer.copy_out(values.data(), values.size_bytes());
  }

  // Launches and waits. What the kernel's name is and which code stays loaded until the next.
  Result<void> run(std::string_view kernel, const KernelShape& shape,
                   std::span<const core::BufferView> buffers, std::span<const i64> variables) {
    TRY(const core::Binary binary, probe_kernel(kernel, card_->caps, shape));
    TRY(program_, device_->load(binary));
    TRY(program_->launch(buffers, variables));
    return device_->synchronize();
  }

 private:
  Launcher(const Card& card, std::unique_ptr<amd::AmdDevice> device)
      : card_(&card), device_(std::move(device)) {}

  const Card* card_;
  std::unique_ptr<amd::AmdDevice> device_;
  std::unique_ptr<core::Program> program_;  // of the device
};

}  // namespace doorbell::tools
