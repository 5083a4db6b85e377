// What the kernels of an emulated GPU did: instructions by class, bank conflicts of shared memory,
// and bytes of global memory. The same for all vendors, so that figures can be compared. See
// instruction_counter.h for how an interpreter counts, counts_file.h for counts of another process.
//
// An emulated machine whose options have a Counts counts into it; without one, counting costs
// nothing. The counts of a launch are there before the host can see that the launch has ended.
#pragma once

#include <array>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "base/util/types.h"

namespace doorbell::emu {

enum class InstructionClass : u8 {
  Vector,    // arithmetic and moves of lanes
  Matrix,    // WMMA, MFMA; HMMA, wgmma
  Scalar,    // the same for all lanes: AMD's scalar unit, NVIDIA's uniform registers
  Constant,  // loads that are the same for all lanes: s_load, LDC
  Shared,    // LDS, shared memory
  Global,    // global memory, and generic addresses
  Local,     // memory of a lane: scratch, local memory
  Bulk,      // copies of blocks and boxes by an engine (TMA), not by lanes
  Branch,    // jumps, calls, ends, divergence
  Barrier,   // of work groups and warps, in shared memory, of the whole device
  Other,     // waits, hints, fences, caches
};
inline constexpr std::array<const char*, 11> kInstructionClasses = {
    "vector", "matrix", "scalar", "constant", "shared", "global",
    "local",  "bulk",   "branch", "barrier",  "other"};

struct KernelCounts {
  u64 launches = 0;
  // Executed, once for a wave or warp, however many of its lanes take part.
  std::array<u64, kInstructionClasses.size()> instructions{};
  // Cycles that accesses of shared memory take beyond those without conflicts.
  u64 bank_conflicts = 0;
  // Bytes that lanes ask for in global memory, and AMD's scalar loads. An atomic operation writes.
  u64 bytes_read = 0, bytes_written = 0;
  // Blocks of 32 bytes, at multiples of 32, that each instruction touches: sector * 32 above the
  // bytes says that lanes access bytes that are not neighbours, below it that they share them.
  u64 sectors = 0;

  // Calls f(name, value) for each.
  static void fields(auto& counts, auto f) {
    f("launches", counts.launches);
    for (usize i = 0; i < kInstructionClasses.size(); ++i)
      f(kInstructionClasses[i], counts.instructions[i]);
    f("bank conflicts", counts.bank_conflicts);
    f("bytes read", counts.bytes_read);
    f("bytes written", counts.bytes_written);
    f("sectors", counts.sectors);
  }
  u64& of(InstructionClass kind) { return instructions[static_cast<usize>(kind)]; }
  u64 of(InstructionClass kind) const { return instructions[static_cast<usize>(kind)]; }
  u64 all_instructions() const;
  void add(const KernelCounts& other);
};

using CountsByKernel = std::map<std::string, KernelCounts, std::less<>>;

// Thread safety: from any thread.
class Counts {
 public:
  void add(std::string_view kernel, const KernelCounts& counts);
  // Those so far, by the kernel's name.
  CountsByKernel kernels() const;
  void clear();

 private:
  mutable std::mutex mutex_;
  CountsByKernel kernels_;
};

}  // namespace doorbell::emu
