// The loop that runs all commands of the CPU's queues.
#include "drivers/cpu/executor.h"

#include <cstring>

#include "drivers/cpu/program.h"
#include "drivers/cpu/signal_event.h"

namespace doorbell::cpu {
namespace {

template <class T>
T* pointer(u64 address) {
  return reinterpret_cast<T*>(address);
}

u64 signal_value(Command command) {
  return pointer<hcq::SignalCell>(command.operand(0))->value.load(std::memory_order_acquire);
}

bool poll_passes(Command command) {
  const u64 value = __atomic_load_n(pointer<u64>(command.operand(0)), __ATOMIC_ACQUIRE);
  return (value & command.operand(2)) == command.operand(1);
}

}  // namespace

bool may_pass(Command command) {
  return command.header().kind == CommandKind::Poll ? poll_passes(command)
                                                    : signal_value(command) >= command.operand(1);
}

void Executor::exec(Command command, hcq::Position position) const {
  const auto& program = *pointer<const CpuProgram>(command.operand(0));
  // Cells are as large as pointers and variables, and lie as the kernel takes them.
  static_assert(sizeof(void*) == sizeof(u64));
  const u64* buffers = command.cells + hcq::kExecCells;
  const u64* variables = buffers + program.params();
  struct Asked {
    const Executor* executor;
    hcq::Position position;
  } asked{this, position};
  const auto drops = [](void* context) {
    const Asked& asked = *static_cast<const Asked*>(context);
    return asked.executor->drops(asked.position);
  };
  program.run(reinterpret_cast<void* const*>(buffers), reinterpret_cast<const i64*>(variables),
              {drops, &asked});
}

const u64* Executor::run(const u64* at, const u64* end, hcq::Position position) {
  while (at != end) {
    const Command command{at};
    const hcq::CommandHeader header = command.header();
    switch (header.kind) {
      case CommandKind::Exec:
        if (drops(position)) [[unlikely]]
          break;
        running_.store(&pointer<const CpuProgram>(command.operand(0))->name(),
                       std::memory_order_relaxed);
        exec(command, position);
        running_.store(nullptr, std::memory_order_relaxed);
        break;
      case CommandKind::Copy:
        if (drops(position)) [[unlikely]]
          break;
        std::memmove(pointer<u8>(command.operand(0)), pointer<const u8>(command.operand(1)),
                     command.operand(2));
        break;
      case CommandKind::Write:
        __atomic_store_n(pointer<u64>(command.operand(0)), command.operand(1), __ATOMIC_RELEASE);
        break;
      case CommandKind::Wait:
      case CommandKind::Poll:
        if (!may_pass(command) && !drops(position)) return at;
        break;
      case CommandKind::Signal:
        raise(*pointer<hcq::SignalCell>(command.operand(0)), command.operand(1));
        break;
      case CommandKind::Timestamp: *pointer<u64>(command.operand(0)) = clock_.now_ns(); break;
      case CommandKind::Barrier: break;
    }
    at += header.cells;
  }
  return end;
}

}  // namespace doorbell::cpu
