// Decompositions of small matrices: QR by Householder reflections, singular values by one-sided
// Jacobi rotations, and the Newton-Schulz iteration. Every step is the same few kernels on the
// whole batch, stored between steps.
#include <algorithm>

#include "tensor/api/axes.h"
#include "tensor/api/gradient.h"
#include "tensor/api/promotion.h"
#include "tensor/api/windows.h"

namespace doorbell {

namespace {

void check_matrix(const Tensor& x, const char* what) {
  const bool wide = x.dtype() == dtypes::f32 || x.dtype() == dtypes::f64;
  if (x.ndim() < 2 || !wide) {
    throw fail(ErrorKind::Invalid,
               "{} of shape {} and dtype {}, expected float32 or float64 matrices", what,
               x.shape().str(), core::long_name_of(x.dtype().scalar));
  }
}

// The unit matrix for every matrix of x's batch.
Tensor units(const Tensor& x, i64 rows) {
  Shape shape = x.shape();
  shape[shape.size() - 2] = rows;
  shape[shape.size() - 1] = rows;
  return Tensor::eye(rows, {.dtype = x.dtype(), .device = x.device()}).expand(shape);
}

Tensor columns(const Tensor& x, i64 begin, i64 end) {
  return x.at({{Index(Ellipsis), Index(Slice(begin, end))}});
}

Tensor transposed(const Tensor& x) { return x.transpose(-2, -1); }

// The vectors of a reflection I - w v^T that turns column i of R below the diagonal to 0. Where
// that part is 0 already there is none, as in LAPACK, which the signs of R follow.
struct Reflection {
  Tensor v, w;  // (..., m, 1)
};

Reflection reflection_of(const Tensor& R, i64 i) {
  const i64 m = R.size(-2).value();
  const Tensor place = Tensor::arange(m, {.device = R.device()}).unsqueeze(-1);
  const Tensor x = doorbell::where(place >= i, columns(R, i, i + 1), 0);
  const Tensor here = place == i;
  const Tensor head = doorbell::where(here, x, 0).sum(-2, {.keepdim = true});
  const Tensor tail = doorbell::where(here, 0, x.square()).sum(-2, {.keepdim = true});
  const Tensor active = tail != 0;
  const Tensor norm = doorbell::where(active, head.square() + tail, 1).sqrt();
  const Tensor sign = doorbell::where(head < 0, -1.0, 1.0).cast(R.dtype());
  const Tensor first = doorbell::where(active, head + sign * norm, 1);
  const Tensor v = doorbell::where(here, first, x) / first;
  const Tensor factor = doorbell::where(active, sign * first / norm, 0);
  return {v, factor * v};
}

}  // namespace

QR Tensor::qr(QrMode mode) const {
  check_matrix(*this, "QR");
  const i64 m = size(-2).value(), n = size(-1).value(), k = std::min(m, n);
  Tensor R = *this, Q = units(*this, m);
  for (i64 i = 0; i < std::min(m - 1, n); ++i) {
    const Reflection h = reflection_of(R, i);
    R = (R - h.w.matmul(transposed(h.v).matmul(R))).contiguous();
    Q = (Q - Q.matmul(h.v).matmul(transposed(h.w))).contiguous();
  }
  R = R.triu();
  if (mode == QrMode::Complete) return {Q, R};
  return {columns(Q, 0, k), R.at({{Index(Ellipsis), Index(Slice(0, k)), Index(Slice())}})};
}

namespace {

// One round of rotations: columns k and n / 2 + k of x become orthogonal, as far as their first
// `rows` elements go. Then the columns move on, so that n - 1 rounds pair every two and leave them
// as they were.
Tensor rotated(const Tensor& x, i64 rows) {
  const i64 half = x.size(-1).value() / 2;
  const Tensor left = columns(x, 0, half), right = columns(x, half, 2 * half);
  const auto product = [&](const Tensor& a, const Tensor& b) {
    return (a * b)
        .at({{Index(Ellipsis), Index(Slice(0, rows)), Index(Slice())}})
        .sum(-2, {.keepdim = true});
  };
  const Tensor mixed = product(left, right);
  const Tensor twice = doorbell::where(mixed != 0, mixed, 1) * 2;
  const Tensor cotangent = (product(right, right) - product(left, left)) / twice;
  const Tensor size = (cotangent.abs() + (1 + cotangent.square()).sqrt()).reciprocal();
  const Tensor tangent =
      doorbell::where(mixed != 0, doorbell::where(cotangent < 0, -size, size), 0);
  const Tensor cosine = (1 + tangent.square()).rsqrt(), sine = cosine * tangent;
  const Tensor top = cosine * left - sine * right, bottom = sine * left + cosine * right;
  if (half == 1) return Tensor::cat({top, bottom}, -1).contiguous();
  return Tensor::cat({columns(top, 0, 1), columns(bottom, 0, 1), columns(top, 1, half - 1),
                      columns(bottom, 1, half), columns(top, half - 1, half)},
                     -1)
      .contiguous();
}

// Enough for f64 and the sizes that this is for; each sweep squares what is left.
constexpr int kSweeps = 10;

}  // namespace

SVD Tensor::svd(bool full_matrices) const {
  check_matrix(*this, "singular values");
  const i64 m = size(-2).value(), n = size(-1).value();
  if (m < n) {
    const SVD turned = transposed(*this).svd(full_matrices);
    return {transposed(turned.Vh), turned.S, transposed(turned.U)};
  }
  if (n == 0) return {full_matrices ? units(*this, m) : *this, sum(-2), units(*this, 0)};
  // x V = W with orthogonal columns; W on top of V. A column of zeros makes their number even.
  Tensor both = Tensor::cat({*this, units(*this, n)}, -2);
  const i64 even = n + n % 2;
  detail::Amounts added(static_cast<usize>(ndim()), {0, 0});
  added.back().second = even - n;
  both = both.pad(added).contiguous();
  for (i64 round = 0; round < kSweeps * (even - 1); ++round) both = rotated(both, m);
  both = columns(both, 0, n);
  const auto rows = [](const Tensor& x, i64 begin, i64 end) {
    return x.at({{Index(Ellipsis), Index(Slice(begin, end)), Index(Slice())}});
  };
  const Picked sorted = rows(both, 0, m).square().sum(-2).sqrt().sort(-1, true);
  both = both.gather(-1, sorted.indices.unsqueeze(-2).expand(both.shape())).contiguous();
  // The columns of W by their sizes are U, as far as there are sizes; QR finds the rest.
  const QR split = rows(both, 0, m).qr(full_matrices ? QrMode::Complete : QrMode::Reduced);
  const Tensor place = Tensor::arange(split.Q.size(-1).value(), {.device = device()});
  const Tensor square = rows(split.R, 0, n);
  Tensor sign = doorbell::where(square * units(square, n) < 0, -1.0, 0.0)
                    .sum(-2, {.keepdim = true})
                    .cast(dtype());
  detail::Amounts beside(static_cast<usize>(ndim()), {0, 0});
  beside.back().second = place.size(0).value() - n;
  sign = 1 + 2 * sign.pad(beside);
  return {split.Q * sign, sorted.values, transposed(rows(both, m, m + n))};
}

Tensor Tensor::newton_schulz(i64 steps, const std::vector<f64>& coefficients, f64 eps) const {
  if (ndim() < 2 || coefficients.empty() || steps < 0) {
    throw fail(ErrorKind::Invalid, "{} Newton-Schulz steps of {} coefficients on shape {}", steps,
               coefficients.size(), shape().str());
  }
  if (size(-2).max() > size(-1).max())
    return transposed(transposed(*this).newton_schulz(steps, coefficients, eps));
  Tensor x = detail::as_float(*this);
  const Tensor squares = x.square().sum({-2, -1}, {.keepdim = true});
  x = x / detail::root_of_squares(squares).maximum(eps);
  for (i64 step = 0; step < steps; ++step) {
    const Tensor squares = x.matmul(transposed(x));
    Tensor sum = coefficients.back() * x;
    for (usize i = coefficients.size() - 1; i-- > 0;)
      sum = squares.matmul(sum) + coefficients[i] * x;
    x = sum.contiguous();
  }
  return x;
}

}  // namespace doorbell
