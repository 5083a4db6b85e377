// Chip: what the emulated driver reports of a GPU. A table of the emulator's own: drivers/cuda
// believes what it reports, and codegen has another.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::emu::cuda {

struct Chip {
  std::string_view name;  // "sm_90"
  std::string_view gpu;   // as cuDeviceGetName has it
  int major, minor;
  int multiprocessors;
  int threads;          // of a multiprocessor
  int shared_of_sm;     // bytes
  int shared_of_block;  // bytes, for a block that asks for more than 48 KiB
  int l2_bytes;
  u64 memory_bytes;
};

std::span<const Chip> chips();
// "sm_90,sm_86"; "sm_90:16" has 16 multiprocessors, as a partition of a GPU has fewer. Invalid for
// a name that is not in the table, with those that are, and for more multiprocessors than its.
Result<std::vector<Chip>> parse_gpus(std::string_view text);

}  // namespace doorbell::emu::cuda
