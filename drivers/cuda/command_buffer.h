// CudaCommandBuffer: writes the commands of command.h. A barrier matters only among launches that
// become one CUDA graph (launch_graph.h): a stream runs its calls one after another.
#pragma once

#include "drivers/cuda/command.h"
#include "hcq/queue/command_buffer.h"

namespace doorbell::cuda {

class CudaDevice;

class CudaCommandBuffer final : public hcq::CommandBuffer {
 public:
  explicit CudaCommandBuffer(const CudaDevice& device) : device_(device) {}

  void wait(hcq::Operand address, hcq::Operand value) override;
  void signal(hcq::Operand address, hcq::Operand value) override;
  void timestamp(hcq::Operand address) override;
  void memory_barrier() override;
  void exec(const hcq::Launch& launch) override;
  void copy(hcq::Operand to, hcq::Operand from, u64 bytes) override;
  void write(hcq::Operand address, hcq::Operand value) override;
  void poll(hcq::Operand address, hcq::Operand value, u64 mask) override;

 private:
  // The first operand's word.
  u32 begin(CommandKind kind, u32 cells);
  void command(CommandKind kind, std::initializer_list<hcq::Operand> operands);

  const CudaDevice& device_;  // whose programs may run here
};

}  // namespace doorbell::cuda
