// SdmaCommands: a copy engine's operations. The engine takes its packets in order but has several
// copies under way; it reads and writes memory behind the caches of the compute units. Why no
// packet here names caches: docs/hw/amd.md.
#pragma once

#include "drivers/amd/caps.h"
#include "drivers/amd/commands.h"

namespace doorbell::amd {

class SdmaCommands final : public Commands {
 public:
  explicit SdmaCommands(const Caps& caps) : Commands(Area::Words), caps_(caps) {}

  void wait(hcq::Operand address, hcq::Operand value) override;
  void signal(hcq::Operand address, hcq::Operand value) override;
  void timestamp(hcq::Operand address) override;
  void memory_barrier() override;
  // Kernels do not run here.
  void exec(const hcq::Launch& launch) override;
  void copy(hcq::Operand to, hcq::Operand from, u64 bytes) override;
  void write(hcq::Operand address, hcq::Operand value) override;
  void poll(hcq::Operand address, hcq::Operand value, u64 mask) override;

  // Tells the kernel's event, whose mailbox lies at `mailbox`.
  void interrupt(u64 mailbox, u32 event_id);

 private:
  void fence(hcq::Operand address, hcq::Operand value);

  const Caps& caps_;
};

}  // namespace doorbell::amd
