// How the commands of hcq/software are read from the words of a CUDA queue. The submitter turns
// them into calls on a stream: see queue.h.
#pragma once

#include <array>
#include <cstring>
#include <span>

#include "hcq/software/command.h"

namespace doorbell::cuda {

using hcq::CommandKind;

// A command where it lies in the words, which need not be aligned for u64.
struct Command {
  const u32* words;

  hcq::CommandHeader header() const {
    return decode<hcq::CommandHeader>(std::array<u32, 2>{words[0], words[1]});
  }
  u64 operand(u32 i) const {
    u64 value;
    std::memcpy(&value, words + 2 + i * 2, sizeof value);
    return value;
  }
  // Of Exec.
  const u32* arguments() const { return words + usize{hcq::kExecCells} * 2; }
  std::span<const u32> argument_words() const { return {arguments(), next()}; }
  const u32* next() const { return words + usize{header().cells} * 2; }
};

}  // namespace doorbell::cuda
