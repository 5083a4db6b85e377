// CpuCommandBuffer: writes the commands of command.h. Memory barriers write no command: one thread
// runs the commands of a queue one after another, and its workers finish before the next.
#pragma once

#include "drivers/cpu/command.h"
#include "hcq/queue/command_buffer.h"

namespace doorbell::cpu {

class CpuDevice;

class CpuCommandBuffer final : public hcq::CommandBuffer {
 public:
  explicit CpuCommandBuffer(const CpuDevice& device) : device_(device) {}

  void wait(hcq::Operand address, hcq::Operand value) override;
  void signal(hcq::Operand address, hcq::Operand value) override;
  void timestamp(hcq::Operand address) override;
  void memory_barrier() override {}
  void exec(const hcq::Launch& launch) override;
  void copy(hcq::Operand to, hcq::Operand from, u64 bytes) override;
  void write(hcq::Operand address, hcq::Operand value) override;
  void poll(hcq::Operand address, hcq::Operand value, u64 mask) override;

 private:
  // The first operand's word.
  u32 begin(CommandKind kind, u32 cells);
  void command(CommandKind kind, std::initializer_list<hcq::Operand> operands);

  const CpuDevice& device_;  // whose programs may run here
};

}  // namespace doorbell::cpu
