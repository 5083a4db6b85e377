// Trial: repeats a comparison whose operands have undefined bits with further values than the
// wave's and its twin's: all zeros, all ones, and the other operand's bits. A lane's result is
// undefined as soon as two of them differ.
#pragma once

#include <array>

#include "emulator/amd/isa/operation.h"
#include "emulator/amd/isa/wave.h"

namespace doorbell::emu::amdgpu {

class Trial {
 public:
  Trial(const Wave& wave, Wave& twin, const Operation& op) : wave_(wave), twin_(twin), op_(op) {}

  // Call before the wave executes it; leaves the twin unchanged.
  void run();
  // Call after both have executed it.
  void conclude();

 private:
  enum class Fill : u8 { Zeros, Ones, Other };
  static constexpr u32 kMaxRows = 6;  // three operands of two registers

  bool is_mask() const { return (op_.entry->shape.flags & kCompare) != 0; }
  u64 result(const Wave& wave) const { return is_mask() ? wave.mask(op_.dst) : wave.scc; }
  u32 other(u32 operand, u32 word, u32 lane) const;
  void fill(Fill with);
  void fill_vector(u32 operand, u32 word, Fill with);
  void restore();

  const Wave& wave_;
  Wave& twin_;
  const Operation& op_;
  u64 ones_ = 0, zeros_ = 0;  // lanes in which a result was true, was false
  u32 saved_rows_ = 0;
  std::array<u32, kMaxRows> saved_index_;
  alignas(64) std::array<std::array<u32, 64>, kMaxRows> saved_;
  std::array<u32, kScalarRegisters> saved_scalars_;
  u32 saved_scc_ = 0;
};

}  // namespace doorbell::emu::amdgpu
