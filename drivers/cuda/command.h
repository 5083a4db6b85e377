// The commands of CUDA's queues, which the submitter turns into calls on a stream. A command is a
// header and operands, in 64-bit cells, so that the arguments of a kernel lie in the words as a
// launch takes them. For writing them see command_buffer.h, for running them queue.h.
//
//   Exec       program, buffers by slot, variables in order
//   Copy       to, from, bytes
//   Write      address, value
//   Wait       signal, value                    until the signal is at least the value
//   Poll       address, value, mask             until (*address & mask) == value
//   Signal     signal, value
//   Timestamp  address
//   Barrier                                     launches before it are done before those behind it
#pragma once

#include <array>
#include <cstring>

#include "base/bits/record.h"

namespace doorbell::cuda {

enum class CommandKind : u8 { Exec, Copy, Write, Wait, Poll, Signal, Timestamp, Barrier };

struct CommandHeader {
  static constexpr u32 kWords = 2;  // one cell
  CommandKind kind = CommandKind::Exec;
  u32 cells = 0;  // with the header
  static constexpr void fields(auto& p, auto f) {
    f("kind", word(0, 7, 0), p.kind);
    f("cells", word(1), p.cells);
  }
};
static_assert(sound<CommandHeader>());

// Cells of Exec before the arguments.
inline constexpr u32 kExecCells = 2;

// A command where it lies in the words, which need not be aligned for u64.
struct Command {
  const u32* words;

  CommandHeader header() const {
    return decode<CommandHeader>(std::array<u32, 2>{words[0], words[1]});
  }
  u64 operand(u32 i) const {
    u64 value;
    std::memcpy(&value, words + 2 + i * 2, sizeof value);
    return value;
  }
  // Of Exec.
  const u32* arguments() const { return words + usize{kExecCells} * 2; }
  usize argument_bytes() const { return (header().cells - kExecCells) * sizeof(u64); }
  const u32* next() const { return words + usize{header().cells} * 2; }
};

}  // namespace doorbell::cuda
