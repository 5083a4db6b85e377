// Products of matrices. A product is one multiplication with axes spread apart and
// one sum: the shape the scheduler and the code generator look for.
#include <algorithm>

#include "tensor/api/promotion.h"

namespace doorbell {

Tensor Tensor::dot(const Tensor& x) const {
  const i64 rank = ndim(), other = x.ndim();
  if (rank == 0 || other == 0) {
    throw fail(ErrorKind::Invalid, "product of shapes {} and {}, expected an axis or more",
               shape().str(), x.shape().str());
  }
  const i64 inner = -std::min<i64>(other, 2);
  if (!(size(-1) == x.size(inner))) {
    throw fail(ErrorKind::Invalid, "cannot multiply shapes {} and {}", shape().str(),
               x.shape().str());
  }
  // (..., m, 1, k) * (..., 1, n, k), summed over k.
  const usize added = static_cast<usize>(std::min<i64>({rank - 1, other - 1, 1}));
  const Shape left_shape = shape(), right_shape = x.shape();
  Shape left(left_shape.begin(), left_shape.end() - 1);
  left.insert(left.end(), added, Size(1));
  left.push_back(left_shape.back());
  Shape right(right_shape.begin(), right_shape.end() + std::max<i64>(-2, -other));
  right.insert(right.end(), added, Size(1));
  right.insert(right.end(), right_shape.end() + inner, right_shape.end());
  const Tensor columns = x.reshape(right).transpose(-1, inner);
  return (reshape(left) * columns).sum(-1).cast(core::promote(dtype(), x.dtype()));
}

Tensor Tensor::matmul(const Tensor& x) const { return dot(x); }

Tensor Tensor::outer(const Tensor& x) const {
  if (ndim() != 1 || x.ndim() != 1) {
    throw fail(ErrorKind::Invalid, "outer product of shapes {} and {}, expected vectors",
               shape().str(), x.shape().str());
  }
  return unsqueeze(1) * x;
}

Tensor Tensor::linear(const Tensor& weight) const {
  return weight.ndim() == 1 ? mul(weight) : dot(weight);
}
Tensor Tensor::linear(const Tensor& weight, const Tensor& bias) const {
  return linear(weight).add(bias);
}

}  // namespace doorbell
