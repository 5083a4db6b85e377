// How many vector registers instructions name: what a wave must have been given to run them. The
// count is the decoder's knowledge; run.cc compares it with the wave's once per block.
#pragma once

#include <span>

#include "emulator/amd/isa/operation.h"

namespace doorbell::emulator::amd {

struct RegisterNeeds {
  u32 vgprs = 0, accumulators = 0;  // one more than the highest index
  void include(const RegisterNeeds& other);
  bool within(u32 vgpr_limit, u32 accumulator_limit) const {
    return vgprs <= vgpr_limit && accumulators <= accumulator_limit;
  }
};

RegisterNeeds register_needs(const Operation& op);

// Vector registers from the one that a source names on, and from the result's: src[source] is one,
// the result is.
u32 source_registers(const Operation& op, usize source);
u32 result_registers(const Operation& op);
RegisterNeeds register_needs(std::span<const Operation> ops);

}  // namespace doorbell::emulator::amd
