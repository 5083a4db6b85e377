// CpuCommandBuffer: which programs the CPU's queues take.
#pragma once

#include "hcq/software/command_buffer.h"

namespace doorbell::cpu {

class CpuDevice;

class CpuCommandBuffer final : public hcq::SoftwareCommandBuffer {
 public:
  explicit CpuCommandBuffer(const CpuDevice& device) : device_(device) {}

 private:
  const void* program_of(const hcq::Launch& launch) const override;

  const CpuDevice& device_;  // whose programs may run here
};

}  // namespace doorbell::cpu
