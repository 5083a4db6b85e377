// CStyleHelpers: the small functions that a kernel in a C-like language needs, written into its
// source once each, at the first request. Each request returns the function's name. Common to all
// languages: vectors have C's operators, a comparison of vectors gives lanes of 0 or -1, and `mask
// ? a : b` selects by lane. For types, conversions of lanes, memory and narrow floats see
// clang_helpers.h and opencl_helpers.h.
#pragma once

#include <set>
#include <string>

#include "core/dtype/dtype.h"
#include "core/uop/op.h"

namespace doorbell::codegen {

class CStyleHelpers {
 public:
  virtual ~CStyleHelpers() = default;

  // The name of a value's type. Bool scalars are 0 or 1, lanes of Bool vectors 0 or -1.
  virtual std::string type(core::DType t) = 0;
  // The expression with each lane converted as C does; for scalars a cast.
  virtual std::string convert(core::DType to, const std::string& expression) = 0;
  virtual std::string bits(core::DType to, core::DType from) = 0;  // reinterprets

  std::string cast(core::DType to, core::DType from);
  std::string max(core::DType t);
  std::string divide(core::Op op, core::DType t);  // CDiv, CMod
  std::string shift(core::Op op, core::DType t, core::DType amount);

  // A float that the language computes in f32 and keeps as its bits.
  virtual bool is_narrow(core::DType t) const = 0;

  // The int type of the same width and lanes; a signed one is what comparing vectors gives.
  static core::DType int_of(core::DType t, bool is_signed);

  // All requested functions, in order.
  const std::string& source() const { return source_; }

 protected:
  // The body of a cast from or to a narrow float.
  virtual std::string to_narrow(core::DType to, core::DType from) = 0;
  virtual std::string from_narrow(core::DType to, core::DType from) = 0;

  bool begin(const std::string& name) { return defined_.insert(name).second; }  // false: exists
  bool defined(const std::string& name) const { return defined_.contains(name); }
  void define(const std::string& text) { source_ += text; }

 private:
  std::string saturating(core::DType to, core::DType from);

  std::set<std::string> defined_;
  std::string source_;
};

}  // namespace doorbell::codegen
