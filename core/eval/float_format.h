// The narrow float formats: rounding an f64 to them and their bit patterns. For arithmetic on the
// values see eval.h. Every value of every format is exactly representable as an f64.
//
// f16: IEEE 754-2019 binary16. bf16: the upper half of binary32.
// f8e4m3, f8e5m2: OCP 8-bit Floating Point Specification (OFP8) rev 1.0, sections 4 and 5; the
//   conversion is the saturating one of section 5.2: what is too large, infinity included, becomes
//   the largest finite value; NaN stays NaN.
// f8e4m3fnuz, f8e5m2fnuz: no infinities, one zero, NaN is 0x80; bias one more than OFP8's (LLVM
//   APFloat Float8E4M3FNUZ and Float8E5M2FNUZ). Finite values saturate; infinity becomes NaN.
#pragma once

#include "base/util/types.h"
#include "core/dtype/dtype.h"

namespace doorbell::core {

// The nearest value of the format, ties to even.
f64 round_to_format(Scalar format, f64 value);
// The bit pattern of a value that the format can represent.
u64 float_bits(Scalar format, f64 value);
f64 float_from_bits(Scalar format, u64 bits);

}  // namespace doorbell::core
