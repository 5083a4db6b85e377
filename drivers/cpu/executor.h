// CpuExecutor: runs the commands of one queue of the CPU. Its commands are those of
// SoftwareCommandBuffer; memory barriers write none, because one thread runs the commands of a
// queue one after another, and its workers finish before the next.
//
// Thread safety: as Executor.
#pragma once

#include "base/os/clock.h"
#include "hcq/software/executor.h"

namespace doorbell::cpu {

class CpuDevice;

class CpuExecutor final : public hcq::Executor {
 public:
  // `device`: whose programs may run here.
  CpuExecutor(const CpuDevice& device, os::Clock& clock) : device_(device), clock_(clock) {}

  const u64* run(const u64* at, const u64* end, hcq::Position position, Caller caller) override;
  std::unique_ptr<hcq::CommandBuffer> make_commands() override;
  std::string running() const override;

  // ---- for run_commands() -----------------------------------------------------------------------
  void exec(hcq::Command command, hcq::Position position);
  bool copy(hcq::Command command);
  void write(hcq::Command command);
  void signal(hcq::Command command);
  void timestamp(hcq::Command command);

 private:
  const CpuDevice& device_;
  os::Clock& clock_;
  std::atomic<const std::string*> running_{nullptr};  // owned by the device
};

}  // namespace doorbell::cpu
