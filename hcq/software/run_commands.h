// The loop that runs commands one after another. A template, because a call through a pointer for
// each command would cost as much as the command does. For .cc files of executors.
#pragma once

#include "hcq/software/executor.h"

namespace doorbell::hcq {

// What Executor::run() says. `device` has
//   exec(Command, Position)   runs a kernel
//   copy(Command)             copies bytes; false: the caller cannot
//   write(Command)            writes 64 bits
//   signal(Command)           raises a signal once everything before it is done
//   timestamp(Command)        writes the time at which everything before it is done
//   drops(Position)           whether kernels and copies of a submission are dropped
template <class Device>
const u64* run_commands(Device& device, const u64* at, const u64* end, Position position) {
  while (at != end) {
    const Command command{at};
    const CommandHeader header = command.header();
    switch (header.kind) {
      case CommandKind::Exec:
        if (!device.drops(position)) [[likely]]
          device.exec(command, position);
        break;
      case CommandKind::Copy:
        if (!device.drops(position) && !device.copy(command)) return at;
        break;
      case CommandKind::Write: device.write(command); break;
      case CommandKind::Wait:
      case CommandKind::Poll:
        if (!may_pass(command) && !device.drops(position)) return at;
        break;
      case CommandKind::Signal: device.signal(command); break;
      case CommandKind::Timestamp: device.timestamp(command); break;
      case CommandKind::Barrier: break;
    }
    at += header.cells;
  }
  return end;
}

}  // namespace doorbell::hcq
