// The limits of element types: widths for integers; digits, least exponent and largest number for
// floats.
#include "tensor/api/dtype_info.h"

#include <cmath>
#include <limits>

#include "base/util/error.h"

namespace doorbell {

using core::DType;
using core::Scalar;

FloatInfo finfo(DType dtype) {
  const auto info = [&](int digits, int least, f64 max, bool has_infinity = true) {
    const f64 eps = std::ldexp(1.0, -digits);
    return FloatInfo{.bits = dtype.bits(),
                     .eps = eps,
                     .min = -max,
                     .max = max,
                     .smallest_normal = std::ldexp(1.0, least),
                     .has_infinity = has_infinity,
                     .resolution = std::pow(10.0, -std::floor(-std::log10(eps))),
                     .dtype = dtype};
  };
  switch (dtype.scalar) {
    case Scalar::F8E4M3: return info(3, -6, 448, false);
    case Scalar::F8E5M2: return info(2, -14, 57344);
    case Scalar::F8E4M3FNUZ: return info(3, -7, 240, false);
    case Scalar::F8E5M2FNUZ: return info(2, -15, 57344, false);
    case Scalar::F16: return info(10, -14, 65504);
    case Scalar::BF16: return info(7, -126, 0x1.fep127);
    case Scalar::F32: return info(23, -126, std::numeric_limits<f32>::max());
    case Scalar::F64: return info(52, -1022, std::numeric_limits<f64>::max());
    default: break;
  }
  throw fail(ErrorKind::Invalid, "finfo of {}, expected a float dtype",
             core::long_name_of(dtype.scalar));
}

IntInfo iinfo(DType dtype) {
  if (!dtype.is_int()) {
    throw fail(ErrorKind::Invalid, "iinfo of {}, expected an integer dtype",
               core::long_name_of(dtype.scalar));
  }
  const u64 all = ~u64{0} >> (64 - dtype.bits());
  if (dtype.is_unsigned()) return {dtype.bits(), 0, all, dtype};
  return {dtype.bits(), INT64_MIN >> (64 - dtype.bits()), all >> 1, dtype};
}

}  // namespace doorbell
