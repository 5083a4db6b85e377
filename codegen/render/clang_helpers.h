// ClangHelpers: types, memory and narrow floats of the CPU's C: freestanding, with clang's vectors.
// cuda_helpers.h changes what NVRTC has not.
// For helpers of all C-like languages see cstyle_helpers.h.
#pragma once

#include "codegen/render/cstyle_helpers.h"

namespace doorbell::codegen {

class ClangHelpers : public CStyleHelpers {
 public:
  // Floats narrower than f32 are their bits.
  std::string type(core::DType t) override;
  std::string convert(core::DType to, const std::string& expression) override;
  std::string bits(core::DType to, core::DType from) override;
  bool is_narrow(core::DType t) const final;

  std::string load(core::DType t, bool gated);                   // f(address[, gate, otherwise])
  std::string store(core::DType t, bool gated);                  // f(address, value[, gate])
  std::string fence(core::DType t);                              // of the divisor of floats
  std::string by_lane(std::string_view builtin, core::DType t);  // of a builtin on scalars

 protected:
  // Statements, by the machine's conversions: from f32 `f` to f16, returned; from f16 `a` to f32,
  // declared as `f`. `by_bits` does the same without.
  virtual std::string to_half(core::DType to, const std::string& by_bits);
  virtual std::string from_half(core::DType from, const std::string& by_bits);

 private:
  std::string to_narrow(core::DType to, core::DType from) final;
  std::string from_narrow(core::DType to, core::DType from) final;
  std::string half_type(core::DType like);
  std::string gated_load(core::DType t);
  std::string gated_store(core::DType t);
  std::string mask(core::DType t);
  std::string round_to_odd(core::DType t);  // f64 -> f32
  std::string int_to_odd(core::DType t);    // 64-bit int -> same, exact in f64
};

}  // namespace doorbell::codegen
