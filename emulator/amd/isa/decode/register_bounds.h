// How many registers instructions use, and a wave therefore needs. The decoder counts them; run.cc
// compares the count with the wave's once per block.
#pragma once

#include <array>
#include <span>

#include "emulator/amd/isa/operation.h"
#include "emulator/amd/isa/wave.h"

namespace doorbell::emu::amdgpu {

// Scalar registers that are allocated: from here on the codes are FLAT_SCRATCH, XNACK_MASK and VCC
// of gfx9, the only generation here whose waves have fewer than all. [CDNA3 ISA, "SGPR allocation"]
inline constexpr u32 kAllocatedScalars = 102;

// Registers that an operand names, by their index; vector register 256 + n is accumulation register
// n.
struct RegisterRange {
  u16 first = 0, count = 0;
  bool scalar = false, written = false;
};
inline constexpr usize kRegisterRows = 512, kScalarRows = 128;

// Those of one instruction.
class RegisterRanges {
 public:
  void add(const RegisterRange& range) { ranges_[count_++] = range; }
  bool empty() const { return count_ == 0; }
  const RegisterRange* begin() const { return ranges_.data(); }
  const RegisterRange* end() const { return ranges_.data() + count_; }

 private:
  std::array<RegisterRange, 16> ranges_;  // sources, scales of a matrix instruction, results
  usize count_ = 0;
};
// Without EXEC, M0 and SCC, where no operand names them. `lanes` of the wave: masks have a scalar
// register for each 32.
RegisterRanges register_ranges(const Operation& op, u32 lanes);

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
