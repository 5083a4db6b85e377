// WgslHelpers: types of WGSL, and the functions that a kernel needs, written into its source once
// each, at the first request. Requests return the function's name.
//
// A value of 8 or 16 bits is an i32 or u32 within its range. One of 64 bits is a pair, a vec2u, low
// word first, or an i64 or u64 where the compiler has those (wgpu-native's does). A Bool is a bool.
// f16 is the language's own, and needs the extension; f64 is wgpu-native's, which has 64-bit
// integers then.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "core/dtype/dtype.h"
#include "core/uop/op.h"

namespace doorbell::codegen {

inline bool is_wide_int(core::DType t) { return t.is_int() && t.bits() == 64; }

class WgslHelpers {
 public:
  explicit WgslHelpers(bool int64) : int64_(int64) {}

  bool is_pair(core::DType t) const { return is_wide_int(t) && !int64_; }
  std::string type(core::DType t) const;
  // Of an integer type that is no pair: "u", "li".
  static std::string_view suffix(core::DType t);
  // A value of `t` from an expression of its language type that may have left the range of `t`.
  static std::string wrapped(core::DType t, const std::string& expression);
  // A function of this name in wgsl_helpers.cc, with those that it calls.
  std::string named(std::string_view name);

  // Expressions.
  std::string cast(core::DType to, core::DType from, const std::string& x);
  std::string bitcast(core::DType to, core::DType from, const std::string& x);
  // A value of 64 bits as a pair, and back.
  std::string to_pair(core::DType t, const std::string& x);
  std::string from_pair(core::DType t, const std::string& x);
  std::string is_nan(core::DType t, const std::string& x);
  // An unsigned word for a shift: numbers out of range are at least the width.
  std::string shift_amount(core::DType from, const std::string& x);

  // Functions of values.
  std::string max(core::DType t);
  std::string divide(core::Op op, core::DType t);  // CDiv, CMod
  std::string shift(core::Op op, core::DType t);   // by a word

  // Of an array of a work group: its `count` elements from a place on, combined by `op` by the
  // items of a subgroup, whichever of them are there.
  std::string combining(core::Op op, core::DType t, const std::string& array, i64 count);

  const std::string& source() const { return source_; }

 private:
  std::string function_of(std::string_view what, core::DType t);
  std::string saturating(core::DType to, core::DType from);
  std::string float_of(core::DType to, core::DType from, const std::string& x);
  std::string int_of(core::DType to, core::DType from, const std::string& x);
  bool begin(const std::string& name) { return defined_.insert(name).second; }  // false: exists

  const bool int64_;  // the language's own
  std::set<std::string, std::less<>> defined_;
  std::string source_;
};

}  // namespace doorbell::codegen
