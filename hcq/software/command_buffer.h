// SoftwareCommandBuffer: writes the commands of command.h.
#pragma once

#include <initializer_list>

#include "hcq/queue/command_buffer.h"
#include "hcq/software/command.h"

namespace doorbell::hcq {

class SoftwareCommandBuffer : public CommandBuffer {
 public:
  void wait(Operand address, Operand value) override;
  void signal(Operand address, Operand value) override;
  void timestamp(Operand address) override;
  // Writes no command: commands run one after another, unless a device says otherwise.
  void memory_barrier() override {}
  void exec(const Launch& launch) override;
  void copy(Operand to, Operand from, u64 bytes) override;
  void write(Operand address, Operand value) override;
  void poll(Operand address, Operand value, u64 mask) override;

 protected:
  void command(CommandKind kind, std::initializer_list<Operand> operands);

 private:
  // The program as its device runs it, for the first cell of Exec. CHECKs that it is of the queue's
  // device and takes these arguments.
  virtual const void* program_of(const Launch& launch) const = 0;
  // The first operand's word.
  u32 begin(const CommandHeader& header);
};

}  // namespace doorbell::hcq
