// ClangHelpers: the small functions and vector types that a C kernel needs, written into its source
// once each, when first asked for. Each request returns the function's name.
#pragma once

#include <set>
#include <string>

#include "core/dtype/dtype.h"
#include "core/uop/op.h"

namespace doorbell::codegen {

class ClangHelpers {
 public:
  // The C name of a value's type. Bool scalars are 0 or 1, lanes of Bool vectors 0 or -1; floats
  // narrower than f32 are their bits.
  std::string type(core::DType t);

  std::string load(core::DType t, bool gated);   // f(address[, gate, otherwise])
  std::string store(core::DType t, bool gated);  // f(address, value[, gate])
  std::string max(core::DType t);
  std::string divide(core::Op op, core::DType t);  // CDiv, CMod
  std::string shift(core::Op op, core::DType t, core::DType amount);
  std::string by_lane(std::string_view builtin, core::DType t);  // of a builtin on scalars
  std::string bits(core::DType to, core::DType from);            // reinterprets
  std::string cast(core::DType to, core::DType from);

  // The int type of the same width and lanes; a signed one is what comparing vectors gives.
  static core::DType int_of(core::DType t, bool is_signed);

  // All that was asked for, in order.
  const std::string& source() const { return source_; }

 private:
  bool begin(const std::string& name);  // false: it is there already
  void define(const std::string& text) { source_ += text; }
  std::string gated_load(core::DType t);
  std::string gated_store(core::DType t);
  std::string mask(core::DType t);
  std::string saturating(core::DType to, core::DType from);
  std::string to_narrow(core::DType to, core::DType from);
  std::string from_narrow(core::DType to, core::DType from);
  std::string round_to_odd(core::DType t);  // f64 -> f32
  std::string int_to_odd(core::DType t);    // 64-bit int -> same, exact in f64

  std::set<std::string> defined_;
  std::string source_;
};

}  // namespace doorbell::codegen
