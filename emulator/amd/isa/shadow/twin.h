// Twin: tracks which bits of a wave's registers are undefined, and finds uses of such bits.
//
// The twin is a second wave that starts with the complement of all values that the launch leaves
// undefined and executes the same instructions. A bit is undefined where the two differ, so that
// handlers propagate undefinedness without extra code, exactly as far as results depend on it. Both
// must take the same path; where they would not, an undefined value is used: that is reported, and
// the twin is made equal there, so that it is reported once.
//
// A comparison often has the same result for both (most values are not 7, nor are their
// complements), so it is repeated with other values of the undefined bits. See twin_memory.h for
// memory; LDS has its own twin, which the work group keeps. What is a use:
// docs/decisions/0068-undefined-values.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "emulator/amd/isa/decode/code_cache.h"
#include "emulator/amd/isa/judges.h"
#include "emulator/amd/isa/shadow/twin_memory.h"
#include "emulator/amd/isa/shadow/twin_uses.h"
#include "emulator/amd/isa/wave.h"

namespace doorbell::emu::amdgpu {

// The origin of an undefined value, as far as it is known.
struct Origin {
  enum class Kind : u8 { Vector, Scalar, Lds, Memory };
  Kind kind = Kind::Vector;
  u64 at = 0;  // the register's number, the address
};

struct Twin {
  Twin(const Chip& chip, u32 lanes);

  // Call before the wave's launch; then set up both waves as the launch does.
  void complement(const Wave& real, u32 vgprs, u32 accumulators);
  // Call when both are set up.
  void begin(const Wave& real);

  Wave wave;
  std::vector<Origin> vector_origins, scalar_origins;
  Origin scc_origin;
  std::vector<u8> undefined;  // by vector register: whether any lane's is
};

// The memory that the waves of one dispatch and their twins access.
struct TwinMemories {
  TwinMemories(Memory& memory, const AddressSpace& space, UndefinedMemory& undefined)
      : space(space), record(memory), twin(record, space, undefined) {}
  const AddressSpace& space;
  RecordingMemory record;
  TwinMemory twin;
};

// A use of an undefined value.
struct UndefinedUse {
  Use kind = Use::Address;
  u64 pc = 0;  // of the instruction
  u32 lane = 0;
  std::string what;  // a sentence
};

// As run_judged() of isa/run.h, but also stops, as for the budget, at a use: the wave can continue.
Exit run_with_twin(Wave& wave, Twin& twin, TwinMemories& memories, CodeCache& cache, u64 budget,
                   const Judges& judges, std::optional<UndefinedUse>& use);

}  // namespace doorbell::emu::amdgpu
