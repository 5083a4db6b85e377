// Operands of the memory formats. Empty until their handlers stand: their names are unknown, so
// that their instructions stop.
#include "emulator/amd/isa/decode_memory.h"

namespace doorbell::emulator::amd {

void decode_memory(const Decoder&, Format, Operation&) {}

}  // namespace doorbell::emulator::amd
