// Operands of the memory formats: DS, FLAT, GLOBAL, SCRATCH and buffers.
#pragma once

#include "emulator/amd/isa/decode.h"

namespace doorbell::emulator::amd {

// Fills in the operands of op, whose name, entry and words are known.
void decode_memory(const Decoder& decoder, Format format, Operation& op);

}  // namespace doorbell::emulator::amd
