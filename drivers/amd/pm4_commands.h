// Pm4Commands: a compute queue's operations as PM4 packets. Where a chip has several XCCs, each of
// which reads all words, what must happen once is predicated; so the words of such a chip belong in
// an indirect buffer, as those between the packets of an AQL queue do.
//
// Caches. Within a device the L2 holds the truth, unless there are several XCCs, each with its own;
// vector and scalar caches before it do not. So:
//   - a barrier waits for the waves and drops what the caches before the L2 hold;
//   - what comes from outside (the first barrier of a submission, a wait for a signal) also drops
//     the L2's lines, for memory that the host, a copy engine or another device wrote;
//   - a signal writes the L2 back first, for them to read.
#pragma once

#include "drivers/amd/caps.h"
#include "drivers/amd/commands.h"

namespace doorbell::amd {

class AmdDevice;
class AmdProgram;
struct KernelLaunch;

class Pm4Commands : public Commands {
 public:
  Pm4Commands(const AmdDevice& device, const Caps& caps, u32 xccs)
      : Pm4Commands(device, caps, xccs, Area::Words) {}

  void wait(hcq::Operand address, hcq::Operand value) override;
  void signal(hcq::Operand address, hcq::Operand value) override;
  void timestamp(hcq::Operand address) override;
  void memory_barrier() override;
  void exec(const hcq::Launch& launch) final;
  // By the command processor itself, for devices without a copy engine: slow.
  void copy(hcq::Operand to, hcq::Operand from, u64 bytes) override;
  void write(hcq::Operand address, hcq::Operand value) override;
  void poll(hcq::Operand address, hcq::Operand value, u64 mask) override;

  // ---- for the queue ----------------------------------------------------------------------------
  // Before code that was just written runs.
  void acquire_code();
  // Tells the kernel's event, whose mailbox lies at `mailbox`.
  void interrupt(u64 mailbox, u32 event_id);
  // The next barrier also shows what the host has just written.
  void host_wrote() { behind_l2_ = true; }
  // A launch that runs once: its arguments are written where the data lies.
  void launch(const KernelLaunch& launch);

 protected:
  enum class Scope : u8 { Device, System, Code };

  Pm4Commands(const AmdDevice& device, const Caps& caps, u32 xccs, Area area)
      : Commands(area), device_(device), caps_(caps), xccs_(xccs) {}

  // The packets of a launch, whose arguments begin at data word `arguments`.
  virtual void dispatch(const AmdProgram& program, u32 arguments);
  // Begins a run of packets; AQL queues need a packet around it.
  virtual void begin() {}

  const AmdDevice& device_;  // whose programs may run here

 private:
  const AmdProgram& program_of(const hcq::Launch& launch) const;
  // Arguments of a launch, as data: the index of the first word.
  u32 add_arguments(const AmdProgram& program, const hcq::Launch& launch);
  void acquire(Scope scope);
  // Before the command processor itself reads or writes what kernels may have written; the next
  // barrier then shows kernels what it wrote.
  void flush_for_command_processor();
  // What is emitted until `end_once` with its answer happens on the first XCC only.
  u32 begin_once();
  void end_once(u32 predicate);

  const Caps& caps_;
  const u32 xccs_;
  bool behind_l2_ = false;  // memory has changed behind the L2 since the last barrier
};

}  // namespace doorbell::amd
