// Twin: which bits of a wave's registers are undefined, and where such bits decide something.
//
// The twin is a second wave that starts with the complement of all that the launch leaves undefined
// and executes the same instructions. A bit is undefined where the two differ: what handlers do
// with values, they do to undefinedness, exactly as far as a result depends on it, without a line
// of their own. Both must go the same way; where they would not, an undefined value decides: that
// is reported, and the twin is made equal there, so that it is reported once.
//
// Comparisons would hide much (most values are not 7, nor are their complements), so their results
// are tried with other undefined bits too. See twin_memory.h for memory; LDS has its own twin,
// which the work group keeps. What is a use: docs/decisions/0068-undefined-values.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "emulator/amd/isa/decode/code_cache.h"
#include "emulator/amd/isa/shadow/twin_memory.h"
#include "emulator/amd/isa/shadow/twin_uses.h"
#include "emulator/amd/isa/wave.h"

namespace doorbell::emu::amdgpu {

// Where an undefined value came from, as far as it was followed.
struct Origin {
  enum class Kind : u8 { Vector, Scalar, Lds, Memory };
  Kind kind = Kind::Vector;
  u64 at = 0;  // the register's number, the address
};

struct Twin {
  Twin(const Chip& chip, u32 lanes);

  // The wave holds what it holds before its launch; then each is set up as the launch does.
  void complement(const Wave& real, u32 vgprs, u32 accumulators);
  // Both are set up.
  void begin(const Wave& real);

  Wave wave;
  std::vector<Origin> vector_origins, scalar_origins;
  Origin scc_origin;
  std::vector<u8> undefined;  // by vector register: whether any lane's is
};

// The memory that the waves of one dispatch and their twins go through.
struct TwinMemories {
  TwinMemories(Memory& memory, const AddressSpace& space, UndefinedMemory& undefined)
      : space(space), record(memory), twin(record, space, undefined) {}
  const AddressSpace& space;
  RecordingMemory record;
  TwinMemory twin;
};

// An undefined value decided something.
struct UndefinedUse {
  Use kind = Use::Address;
  u64 pc = 0;  // of the instruction
  u32 lane = 0;
  std::string what;  // a sentence
};

// As run() of isa/run.h, and stops, as for the budget, when there was a use: the wave can go on.
Exit run_with_twin(Wave& wave, Twin& twin, TwinMemories& memories, CodeCache& cache, u64 budget,
                   std::optional<UndefinedUse>& use);

}  // namespace doorbell::emu::amdgpu
