// Kernels: the code of a module and its launches, on the interpreter of SASS (emulator/nv).
//
// Thread safety: as said at each.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/util/result.h"
#include "emulator/core/address_space.h"
#include "emulator/core/checks.h"
#include "emulator/core/counts.h"
#include "emulator/cuda/chip.h"

namespace doorbell::emu::cuda {

// What a launch has to know of a kernel.
struct KernelFacts {
  struct Parameter {
    u32 offset, bytes;
  };
  std::string name;
  u32 parameter_bytes = 0;
  std::vector<Parameter> parameters;  // in order
  u32 shared_bytes = 0;               // static, without what the system reserves
  u32 local_bytes = 0, registers = 0;
  u32 most_threads = 0;                 // of a block; 0: not stated
  std::array<u32, 3> required_block{};  // 0: any
};

// Of a cubin, as its ELF header tells. Corrupt for what is none.
Result<usize> image_bytes(const void* image);

class Code {
 public:
  virtual ~Code() = default;
  // Of a cubin for `chip`, image_bytes() long. Corrupt for what is no cubin,
  // Unsupported for another chip's.
  static Result<std::unique_ptr<Code>> load(const void* image, const Chip& chip);

  virtual const std::vector<KernelFacts>& kernels() const = 0;
  // Bytes of its global variables, which place() wants at a multiple of 256; before any launch.
  virtual u64 global_bytes() const = 0;
  // The bytes to write there.
  virtual std::span<const u8> place(u64 address) = 0;

  struct Grid {
    std::array<u32, 3> grid, block;
    u32 shared_bytes;                // dynamic
    std::span<const u8> parameters;  // borrowed
    u64 most_instructions;           // of a warp; 0: no limit
    Counts* counts;                  // of what it executes, borrowed; null: not wanted
  };
  // Runs all of it on the calling thread. What stopped it, or nothing.
  virtual Result<std::string> run(const KernelFacts& kernel, const Grid& grid, AddressSpace& memory,
                                  Checks& checks) const = 0;
};

// A launch that waits in a stream or stands in a graph.
struct KernelLaunch {
  u64 function = 0, module = 0;  // handles
  const Code* code = nullptr;    // the module's
  const KernelFacts* kernel = nullptr;
  std::array<u32, 3> grid{}, block{};
  u32 shared_bytes = 0;
  std::vector<u8> parameters;
};

// The rules of NVIDIA's machines, which include those that kernels may break.
std::span<const Check* const> kernel_checks();

}  // namespace doorbell::emu::cuda
