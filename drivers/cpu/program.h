// A loaded kernel on the CPU: an entry point and how it is called. For loading see device.h, for
// running it as a command executor.h.
//
// Thread safety: a program does not change; launch() from any thread.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "core/device/program.h"
#include "drivers/cpu/worker_pool.h"

namespace doorbell::cpu {

class CpuDevice;

// Buffer addresses by slot, variables in order, and which of the threads.
using KernelEntry = void (*)(void* const* buffers, const i64* variables, i64 thread);

class CpuProgram final : public core::Program {
 public:
  CpuProgram(const core::Binary& binary, CpuDevice& device, std::shared_ptr<WorkerPool> workers);

  // At once, on the calling thread and the workers, after what the device's queues hold. Ends
  // between two parts where the thread is asked to stop (base/util/stop.h).
  Result<void> launch(std::span<const core::BufferView> buffers,
                      std::span<const i64> variables) override;
  // What a part throws is thrown here, once all have ended. False where `check` stopped it.
  bool run(void* const* buffers, const i64* variables, const PartCheck& check = {}) const;

  KernelEntry entry() const { return entry_; }
  const std::string& name() const { return name_; }
  usize params() const { return params_; }
  usize variables() const { return variables_; }
  i64 threads() const { return threads_; }
  const CpuDevice& device() const { return device_; }

 private:
  const KernelEntry entry_;
  CpuDevice& device_;        // outlives its programs
  const std::string& name_;  // owned by the device: a hang may name a program that was freed
  const usize params_, variables_;
  const i64 threads_;
  const std::shared_ptr<WorkerPool> workers_;  // shared with the device
  const std::shared_ptr<void> keep_alive_;     // the module that holds the code
};

}  // namespace doorbell::cpu
