// How many registers instructions use, and a wave therefore needs. The decoder counts them; run.cc
// compares the count with the wave's once per block.
#pragma once

#include <span>

#include "emulator/amd/isa/operation.h"
#include "emulator/amd/isa/wave.h"

namespace doorbell::emu::amdgpu {

// Scalar registers that are allocated: from here on the codes are FLAT_SCRATCH, XNACK_MASK and VCC
// of gfx9, the only generation here whose waves have fewer than all. [CDNA3 ISA, "SGPR allocation"]
inline constexpr u32 kAllocatedScalars = 102;

struct RegisterNeeds {
  u32 vgprs = 0, accumulators = 0;  // one more than the highest index
  u32 sgprs = 0;                    // below kAllocatedScalars
  void include(const RegisterNeeds& other);
  bool within(const Wave& wave) const {
    return vgprs <= wave.vgpr_count && accumulators <= wave.accumulator_count &&
           sgprs <= wave.sgpr_count;
  }
};

RegisterNeeds register_needs(const Operation& op);

// The number of vector registers of source src[source], and of the result.
u32 source_registers(const Operation& op, usize source);
u32 result_registers(const Operation& op);
// The same for scalar registers; 0 if the operand is not scalar.
u32 scalar_source_registers(const Operation& op, usize source);
u32 scalar_result_registers(const Operation& op);
RegisterNeeds register_needs(std::span<const Operation> ops);

}  // namespace doorbell::emu::amdgpu
