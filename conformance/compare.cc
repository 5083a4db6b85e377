// Comparison of arrays element by element.
#include "conformance/compare.h"

#include <fmt/format.h>

#include <cmath>

namespace doorbell::conformance {
namespace {

bool close(DType dtype, Real got, Real want, const Tolerance& tolerance) {
  if (!dtype.is_float()) return got == want;
  if (got == want && want != 0) return true;  // infinities of formats that saturate
  const Real rounded = round_to(dtype, want);
  if (std::isnan(rounded)) return std::isnan(got);
  if (std::isnan(got)) return false;
  if (got == 0 && rounded == 0)
    return !tolerance.zero_sign || std::signbit(got) == std::signbit(rounded);
  if (got == rounded) return true;
  if (std::isinf(want)) return false;
  const Real allowed = tolerance.ulps * unit_of(dtype, want) + tolerance.absolute +
                       tolerance.relative * std::fabs(want);
  // Near the end of the format a small error gives an infinity.
  if (std::isinf(got)) {
    return std::signbit(got) == std::signbit(want) &&
           std::fabs(want) + allowed > format_of(dtype).max;
  }
  return std::fabs(got - want) <= allowed;
}

}  // namespace

std::optional<Difference> compare(const Array& got, const Array& want, const Tolerance& tolerance) {
  if (got.dtype != want.dtype || got.shape != want.shape) {
    return Difference{0, fmt::format("got {} of shape {}, expected {} of shape {}", got.dtype.str(),
                                     text_of(got.shape), want.dtype.str(), text_of(want.shape))};
  }
  usize wrong = 0, first = 0;
  for (usize i = 0; i < want.values.size(); ++i) {
    if (close(want.dtype, got.values[i], want.values[i], tolerance)) continue;
    if (wrong++ == 0) first = i;
  }
  if (wrong == 0) return std::nullopt;
  const Real have = got.values[first], need = want.values[first];
  std::string text = fmt::format("element {}: got {}, expected {}",
                                 text_of(unflatten(static_cast<i64>(first), want.shape)),
                                 text_of(have), text_of(need));
  if (want.dtype.is_float() && std::isfinite(have) && std::isfinite(need)) {
    text += fmt::format(", off by {:.3g} ulps of {}",
                        static_cast<f64>(std::fabs(have - need) / unit_of(want.dtype, need)),
                        want.dtype.str());
  }
  if (wrong > 1) text += fmt::format("; {} of {} elements differ", wrong, want.values.size());
  return Difference{first, text};
}

}  // namespace doorbell::conformance
