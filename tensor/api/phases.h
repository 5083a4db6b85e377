// The other direction of windows (windows.h): what taps add to the elements of a row. With a stride
// s these are s rows that interleave, one for each phase (place modulo s).
//
// Not for users.
#pragma once

#include <span>
#include <vector>

#include "tensor/api/tensor.h"

namespace doorbell::detail {

// An axis: tap t of window w adds to place w * stride + t * dilation - before.
struct TapAxis {
  i64 kernel, stride, dilation, before;

  i64 reach() const { return dilation * (kernel - 1) + 1; }
  i64 step() const;  // between taps that add to the same phase
};

// Place number q of a phase gets from tap first + step * n, for each n in [0, taps), what it adds
// in window q + shift - dilation * n.
struct Phase {
  i64 first = 0, taps = 0, step = 1, dilation = 1, shift = 0;

  // Rows of windows, cut or between zeros, so that element q + reach() - dilation * n is what tap n
  // adds to place q.
  i64 reach() const { return dilation * (taps - 1); }
  std::pair<i64, i64> around(i64 windows, i64 places) const {
    return {reach() - shift, places + shift - windows};
  }
};
Phase phase_of(const TapAxis& axis, i64 number);

// (..., phases of each axis, places of each axis) to (..., places of each axis).
Tensor join_phases(const Tensor& x, usize axes);
// The same of one tensor for each phase of the last axes, the last one's counted first; what is
// undefined is zero, but not all are.
Tensor interleave(std::span<const Tensor> phases, std::span<const i64> strides);
// The numbers by axis of a phase counted so.
std::vector<i64> numbers_of_phase(i64 phase, std::span<const i64> strides);

}  // namespace doorbell::detail
