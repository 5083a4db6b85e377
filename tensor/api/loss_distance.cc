// Losses of how far numbers are apart. For those of classes see loss.cc.
#include <cmath>

#include "tensor/api/loss.h"

namespace doorbell {

Tensor Tensor::mse_loss(const Tensor& target, Reduction reduction) const {
  return detail::reduced((*this - target).square(), reduction);
}

Tensor Tensor::l1_loss(const Tensor& target, Reduction reduction) const {
  return detail::reduced((*this - target).abs(), reduction);
}

Tensor Tensor::huber_loss(const Tensor& target, f64 delta, Reduction reduction) const {
  if (!(delta > 0))
    throw fail(ErrorKind::Invalid, "huber_loss with delta {}, expected more than 0", delta);
  const Tensor far = (*this - target).abs();
  const Tensor is_far = far > delta;                    // NaN counts as near
  const Tensor near = doorbell::where(is_far, 0, far);  // the square must not overflow elsewhere
  return detail::reduced(doorbell::where(is_far, delta * (far - 0.5 * delta), 0.5 * near.square()),
                         reduction);
}

Tensor Tensor::smooth_l1_loss(const Tensor& target, f64 beta, Reduction reduction) const {
  if (!(beta >= 0))
    throw fail(ErrorKind::Invalid, "smooth_l1_loss with beta {}, expected 0 or more", beta);
  if (beta == 0) return l1_loss(target, reduction);
  return huber_loss(target, beta, reduction) / beta;
}

// target (log target - this), 0 where the target is 0.
Tensor Tensor::kl_div(const Tensor& target, Reduction reduction, bool log_target) const {
  if (log_target) return detail::reduced(target.exp() * (target - *this), reduction);
  const Tensor positive = target > 0;
  const Tensor logarithm = doorbell::where(positive, target, 1).log();
  const Tensor loss = doorbell::where(target == 0, 0, target * (logarithm - *this));
  return detail::reduced(doorbell::where(target < 0, NAN, loss), reduction);
}

}  // namespace doorbell
