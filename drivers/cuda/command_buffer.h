// CudaCommandBuffer: commands of hcq/software for CUDA's queues (command.h, queue.h). A barrier
// matters only among launches that become one CUDA graph (launch_graph.h): a stream runs its calls
// one after another.
#pragma once

#include "hcq/software/command_buffer.h"

namespace doorbell::cuda {

class CudaDevice;

class CudaCommandBuffer final : public hcq::SoftwareCommandBuffer {
 public:
  explicit CudaCommandBuffer(const CudaDevice& device) : device_(device) {}

  void memory_barrier() override { command(hcq::CommandKind::Barrier, {}); }

 private:
  const void* program_of(const hcq::Launch& launch) const override;

  const CudaDevice& device_;  // whose programs may run here
};

}  // namespace doorbell::cuda
