// The loop that all work of the CPU's queues goes through.
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

void exec(Command command) {
  const auto& program = *pointer<const CpuProgram>(command.operand(0));
  // Cells are as large as pointers and variables, and lie as the kernel takes them.
  static_assert(sizeof(void*) == sizeof(u64));
  const u64* buffers = command.cells + kExecCells;
  const u64* variables = buffers + program.params();
  program.run(reinterpret_cast<void* const*>(buffers), reinterpret_cast<const i64*>(variables));
}

}  // namespace

bool may_pass(Command command) {
  return command.header().kind == CommandKind::Poll ? poll_passes(command)
                                                    : signal_value(command) >= command.operand(1);
}

const u64* Executor::run(const u64* at, const u64* end) {
  while (at != end) {
    const Command command{at};
    const CommandHeader header = command.header();
    switch (header.kind) {
      case CommandKind::Exec:
        running_.store(&pointer<const CpuProgram>(command.operand(0))->name(),
                       std::memory_order_relaxed);
        exec(command);
        running_.store(nullptr, std::memory_order_relaxed);
        break;
      case CommandKind::Copy:
        std::memmove(pointer<u8>(command.operand(0)), pointer<const u8>(command.operand(1)),
                     command.operand(2));
        break;
      case CommandKind::Write:
        __atomic_store_n(pointer<u64>(command.operand(0)), command.operand(1), __ATOMIC_RELEASE);
        break;
      case CommandKind::Wait:
      case CommandKind::Poll:
        if (!may_pass(command)) return at;
        break;
      case CommandKind::Signal:
        raise(*pointer<hcq::SignalCell>(command.operand(0)), command.operand(1));
        break;
      case CommandKind::Timestamp: *pointer<u64>(command.operand(0)) = clock_.now_ns(); break;
    }
    at += header.cells;
  }
  return end;
}

}  // namespace doorbell::cpu
