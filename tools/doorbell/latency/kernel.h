// TestKernel: the kernel whose launches are measured, with memory to run on, as programs, queues
// and graphs take it.
#pragma once

#include <array>
#include <memory>

#include "core/device/buffer.h"
#include "hcq/device.h"
#include "tensor/engine/plan.h"

namespace doorbell::tools::latency {

class TestKernel {
 public:
  // Adds to one element; compiled for the device as any other kernel. Throws.
  explicit TestKernel(core::Device& device);

  core::Program& program() const { return *kernel_->program; }
  const std::string& name() const { return kernel_->name; }
  void launch() const;

  // ---- on queues
  // Records one launch; `turn` says which of the two buffers is read and which written.
  void record(hcq::Device& device, hcq::CommandBuffer* commands, usize turn = 0) const;
  // By slot of the kernel: whether it is the output.
  const std::array<bool, 2>& outputs() const { return is_output_; }
  hcq::GpuAddr address(hcq::Device& device, usize buffer) const;
  i64 bytes() const { return buffers_[0]->bytes(); }

 private:
  engine::KernelRef kernel_;
  std::array<bool, 2> is_output_{};
  std::array<core::Ref<core::Buffer>, 2> buffers_;
};

}  // namespace doorbell::tools::latency
