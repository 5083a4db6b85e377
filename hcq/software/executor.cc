// When waits pass.
#include "hcq/software/executor.h"

namespace doorbell::hcq {
namespace {

u64 signal_value(Command command) {
  return command.pointer<SignalCell>(0)->value.load(std::memory_order_acquire);
}

bool poll_passes(Command command) {
  const u64 value = __atomic_load_n(command.pointer<u64>(0), __ATOMIC_ACQUIRE);
  return (value & command.operand(2)) == command.operand(1);
}

}  // namespace

bool may_pass(Command command) {
  return command.header().kind == CommandKind::Poll ? poll_passes(command)
                                                    : signal_value(command) >= command.operand(1);
}

}  // namespace doorbell::hcq
