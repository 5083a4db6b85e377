// Decoding of the memory formats: DS, FLAT (with GLOBAL and SCRATCH), MUBUF and their gfx12 forms.
// Defines where their operands are in an Operation, for the handler files (lds_*.cc, *_memory.cc).
#pragma once

#include "emulator/amd/isa/decode/decode.h"
#include "emulator/amd/isa/operation.h"

namespace doorbell::emu::amdgpu {

// Operation::src of memory instructions. A kind None means that the instruction does not have it.
enum MemorySource : u32 {
  kAddress = 0,        // vector
  kData = 1,           // vector
  kScalarAddress = 2,  // FLAT: saddr; buffers: the resource descriptor's first register
  kData1 = 3,          // DS: vector
  kScalarOffset = 3,   // buffers
};

// Operation::flags of memory instructions, beyond OperationFlag. Operation::control is the
// CachePolicy, Operation::immediate the offset (DS: both offset fields).
enum MemoryFlag : u32 {
  kMemoryReturns = 1 << 16,  // atomics: the value before goes to dst
  kMemoryFlat = 1 << 17,     // FLAT: the address chooses among global, LDS and scratch
  kMemoryOffset = 1 << 18,   // buffers: the vector address holds an offset (after the index)
  kMemoryIndex = 1 << 19,    // buffers: the vector address holds an index
  kMemoryGds = 1 << 20,      // DS: the global data share, which the emulated chips lack
};

void decode_memory(const Decoder& decoder, Format format, Operation& op);

}  // namespace doorbell::emu::amdgpu
