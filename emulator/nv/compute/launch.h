// Launches a grid of a cubin's kernel on an emulated NVIDIA GPU: every thread of it runs, as warps
// of 32 whose instructions are interpreted (emulator/nv/isa), one block after the other, on the
// calling thread. Memory is an AddressSpace, which the caller fills; what a fault does to the
// context is for the caller to decide.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>

#include "base/util/result.h"
#include "base/util/types.h"
#include "emulator/core/address_space.h"
#include "emulator/core/checks.h"
#include "emulator/core/counts.h"
#include "emulator/nv/compute/cubin.h"

namespace doorbell::emu::nvgpu {

struct Launch {
  std::array<u32, 3> grid{1, 1, 1};   // blocks
  std::array<u32, 3> block{1, 1, 1};  // threads of a block
  u32 dynamic_shared = 0;             // bytes of shared memory besides the kernel's static ones
  // CubinKernel::parameter_bytes, each at its offset; borrowed.
  std::span<const u8> parameters;
  // Local memory of a thread for calls whose depth the compiler does not know, if the kernel has
  // any local memory. CUDA's default, cudaLimitStackSize.
  u32 stack_bytes = 1024;
  // A warp that executes more instructions is taken for one that never ends. Zero: no limit.
  u64 most_instructions = 0;
  // Gets what the kernel executes, under its name; borrowed. Null: off, at no cost.
  Counts* counts = nullptr;
};

// Why a kernel stopped before its end.
struct Fault {
  std::string kernel;
  const Check* rule = nullptr;  // of compute/rules.h
  u64 pc = 0;                   // of the instruction, from the kernel's entry
  std::string instruction;      // its text
  std::array<u32, 3> block{};   // index of the block
  u32 warp = 0;                 // in the block
  u32 lane = 0;                 // of the warp: the first that broke the rule
  u64 address = 0;              // that was accessed, where the rule is about memory
  std::string message;          // what happened, with both values
};
// "matmul+0x1a0 (LDG.E R4, [R2.64]), block (0, 1, 0), warp 3, lane 7: NV-MEM-001: ..."
std::string to_string(const Fault& fault);

struct LaunchResult {
  std::optional<Fault> fault;
  u64 instructions = 0;  // executed, each counted once a warp
};

// Invalid where the launch does not fit the kernel; a fault is a result. The caller checks the
// chip's limits (emulator/cuda/launch.cc). Violations of rules that `checks` has as warnings are
// reported there and do not stop the kernel.
Result<LaunchResult> launch(const Cubin& cubin, const CubinKernel& kernel, const Launch& launch,
                            AddressSpace& memory, Checks& checks);

}  // namespace doorbell::emu::nvgpu
