// The commands of queues that software runs: the CPU's threads, or calls of a vendor's runtime. A
// command is a header and operands, in 64-bit cells, so that arguments lie in the words as a kernel
// takes them and a patched address is one store. For writing them see command_buffer.h; each driver
// says how it runs them.
//
//   Exec       program, buffers by slot, variables in order
//   Copy       to, from, bytes
//   Write      address, value                   *address = value
//   Wait       signal cell, value               until cell.value >= value
//   Poll       address, value, mask             until (*address & mask) == value
//   Signal     signal cell, value               cell.value = value, sleepers woken
//   Timestamp  address                          *address = the device's clock
//   Barrier                                     launches before it end before those after it begin
#pragma once

#include "base/bits/record.h"

namespace doorbell::hcq {

enum class CommandKind : u8 { Exec, Copy, Write, Wait, Poll, Signal, Timestamp, Barrier };

struct CommandHeader {
  static constexpr u32 kWords = 2;  // one cell
  CommandKind kind = CommandKind::Exec;
  u32 cells = 0;    // with the header
  u32 buffers = 0;  // of Exec
  static constexpr void fields(auto& p, auto f) {
    f("kind", word(0, 7, 0), p.kind);
    f("buffers", word(0, 31, 8), p.buffers);
    f("cells", word(1), p.cells);
  }
};
static_assert(sound<CommandHeader>());

// Cells of Exec before the buffers.
inline constexpr u32 kExecCells = 2;
// Cells of a Signal command, which ends every submission.
inline constexpr u32 kSignalCells = 3;

}  // namespace doorbell::hcq
