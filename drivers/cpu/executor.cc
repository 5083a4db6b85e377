// Kernels on the calling thread and the workers, copies by the processor.
#include "drivers/cpu/executor.h"

#include <cstring>

#include "drivers/cpu/command_buffer.h"
#include "drivers/cpu/program.h"
#include "hcq/software/run_commands.h"
#include "hcq/software/signal_event.h"

namespace doorbell::cpu {

void CpuExecutor::exec(hcq::Command command, hcq::Position position) {
  const auto& program = *command.pointer<const CpuProgram>(0);
  running_.store(&program.name(), std::memory_order_relaxed);
  // Cells are as large as pointers and variables, and lie as the kernel takes them.
  static_assert(sizeof(void*) == sizeof(u64));
  const u64* buffers = command.cells + hcq::kExecCells;
  const u64* variables = buffers + program.params();
  struct Asked {
    const CpuExecutor* executor;
    hcq::Position position;
  } asked{this, position};
  const auto drops = [](void* context) {
    const Asked& asked = *static_cast<const Asked*>(context);
    return asked.executor->drops(asked.position);
  };
  program.run(reinterpret_cast<void* const*>(buffers), reinterpret_cast<const i64*>(variables),
              {drops, &asked});
  running_.store(nullptr, std::memory_order_relaxed);
}

bool CpuExecutor::copy(hcq::Command command) {
  std::memmove(command.pointer<u8>(0), command.pointer<const u8>(1), command.operand(2));
  return true;
}

void CpuExecutor::write(hcq::Command command) {
  __atomic_store_n(command.pointer<u64>(0), command.operand(1), __ATOMIC_RELEASE);
}

void CpuExecutor::signal(hcq::Command command) {
  hcq::raise(*command.pointer<hcq::SignalCell>(0), command.operand(1));
}

void CpuExecutor::timestamp(hcq::Command command) { *command.pointer<u64>(0) = clock_.now_ns(); }

const u64* CpuExecutor::run(const u64* at, const u64* end, hcq::Position position, Caller) {
  return hcq::run_commands(*this, at, end, position);
}

std::unique_ptr<hcq::CommandBuffer> CpuExecutor::make_commands() {
  return std::make_unique<CpuCommandBuffer>(device_);
}

std::string CpuExecutor::running() const {
  const std::string* name = running_.load(std::memory_order_relaxed);
  return name == nullptr ? "" : *name;
}

}  // namespace doorbell::cpu
