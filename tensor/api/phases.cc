// Phases by movement ops.
#include "tensor/api/phases.h"

#include <algorithm>
#include <numeric>

#include "tensor/api/axes.h"

namespace doorbell::detail {

i64 TapAxis::step() const { return stride / std::gcd(stride, dilation); }

Phase phase_of(const TapAxis& axis, i64 number) {
  Phase phase{.step = axis.step(), .dilation = axis.dilation * axis.step() / axis.stride};
  for (i64 t = 0; t < std::min(axis.step(), axis.kernel); ++t) {
    const i64 distance = number + axis.before - axis.dilation * t;
    if (distance % axis.stride != 0) continue;
    phase.first = t, phase.shift = distance / axis.stride;
    phase.taps = (axis.kernel - t + axis.step() - 1) / axis.step();
    break;
  }
  return phase;
}

Tensor join_phases(const Tensor& x, usize axes) {
  const usize first = static_cast<usize>(x.ndim()) - 2 * axes;
  std::vector<i64> order(first);
  std::iota(order.begin(), order.end(), 0);
  for (usize i = first; i < first + axes; ++i)
    order.insert(order.end(), {static_cast<i64>(i + axes), static_cast<i64>(i)});
  Tensor made = x.permute(order);
  for (usize i = first; i < first + axes; ++i)
    made = made.flatten(static_cast<i64>(i), static_cast<i64>(i) + 1);
  return made;
}

std::vector<i64> numbers_of_phase(i64 phase, std::span<const i64> strides) {
  std::vector<i64> numbers(strides.size());
  for (usize i = strides.size(); i-- > 0; phase /= strides[i]) numbers[i] = phase % strides[i];
  return numbers;
}

Tensor interleave(std::span<const Tensor> phases, std::span<const i64> strides) {
  Tensor all;
  for (usize number = 0; number < phases.size(); ++number) {
    Tensor part = phases[number];
    if (!part.defined()) continue;
    const std::vector<i64> numbers = numbers_of_phase(static_cast<i64>(number), strides);
    const i64 first = part.ndim() - static_cast<i64>(strides.size());
    Amounts among(static_cast<usize>(first), {0, 0});
    for (usize i = 0; i < strides.size(); ++i) {
      part = part.unsqueeze(first);
      among.emplace_back(numbers[i], strides[i] - 1 - numbers[i]);
    }
    among.resize(static_cast<usize>(part.ndim()), {0, 0});
    part = part.pad(among);
    all = all.defined() ? all + part : part;
  }
  return join_phases(all, strides.size());
}

}  // namespace doorbell::detail
