// Losses. All work on logits where that is the stable form.
#include "tensor/api/loss.h"

#include "tensor/api/gradient.h"
#include "tensor/api/index_numbers.h"
#include "tensor/api/promotion.h"

namespace doorbell {

using detail::reduced;

Tensor detail::reduced(const Tensor& loss, Reduction reduction) {
  switch (reduction) {
    case Reduction::Mean: return loss.mean();
    case Reduction::Sum: return loss.sum();
    case Reduction::None: return loss;
  }
  throw fail(ErrorKind::Invalid, "reduction {}", static_cast<int>(reduction));
}

namespace {

void check_smoothing(f64 smoothing) {
  if (!(smoothing >= 0 && smoothing <= 1)) {
    throw fail(ErrorKind::Invalid, "label smoothing of {}, expected 0 to 1", smoothing);
  }
}

// Class weights, laid along an axis of x; undefined where there are none.
Tensor along(const Tensor& weight, const Tensor& x, i64 axis) {
  if (!weight.defined()) return weight;
  if (weight.ndim() != 1 || !(weight.size(0) == x.size(axis))) {
    throw fail(ErrorKind::Invalid, "class weights of shape {} for logits of shape {}",
               weight.shape().str(), x.shape().str());
  }
  Shape shape(static_cast<usize>(x.ndim()), 1);
  shape[static_cast<usize>(axis)] = x.size(axis);
  return weight.reshape(shape);
}

// Bool: the labels that count; undefined where all do.
Tensor counted_of(const Tensor& labels, const LossOptions& options) {
  if (!options.ignore_index) return {};
  if (labels.dtype().is_unsigned() && *options.ignore_index < 0) return {};
  return labels != *options.ignore_index;
}

// What the losses of class numbers share; classes lie along `axis` of the log probabilities.
Tensor class_loss(const Tensor& log_probabilities, i64 axis, const Tensor& labels,
                  const Tensor& weight, const LossOptions& options) {
  Shape expected = log_probabilities.shape();
  expected.erase(expected.begin() + axis);
  if (labels.shape() != expected) {
    throw fail(ErrorKind::Invalid, "labels of shape {} for logits of shape {}, expected {}",
               labels.shape().str(), log_probabilities.shape().str(), expected.str());
  }
  const i64 classes = log_probabilities.size(axis).value();
  const Tensor counted = counted_of(labels, options),
               weights = along(weight, log_probabilities, axis);
  detail::check_index(labels, 0, classes, axis, counted);
  const Tensor chosen = detail::one_hot_mask(labels.unsqueeze(axis), classes, axis);
  const Tensor weighted = weights.defined() ? log_probabilities * weights : log_probabilities;
  const auto among_counted = [&](const Tensor& x) {
    return counted.defined() ? doorbell::where(counted, x, 0) : x;
  };
  Tensor loss = among_counted(doorbell::where(chosen, weighted, 0).sum(axis).neg());
  if (options.label_smoothing != 0) {
    const f64 share = options.label_smoothing;
    const Tensor uniform = among_counted(weighted.sum(axis).neg());
    loss = (1 - share) * loss + share / static_cast<f64>(classes) * uniform;
  }
  if (options.reduction != Reduction::Mean) return reduced(loss, options.reduction);
  if (weights.defined()) {
    return loss.sum() / among_counted(doorbell::where(chosen, weights, 0).sum(axis)).sum();
  }
  return counted.defined() ? loss.sum() / counted.cast(loss.dtype()).sum() : loss.mean();
}

}  // namespace

Tensor Tensor::sparse_categorical_crossentropy(const Tensor& labels,
                                               const LossOptions& options) const {
  check_smoothing(options.label_smoothing);
  if (ndim() == 0) throw fail(ErrorKind::Invalid, "logits of shape (), expected classes");
  return class_loss(log_softmax(-1), ndim() - 1, labels, {}, options);
}

Tensor Tensor::cross_entropy(const Tensor& labels, const LossOptions& options) const {
  return cross_entropy(labels, Tensor(), options);
}

Tensor Tensor::cross_entropy(const Tensor& labels, const Tensor& weight,
                             const LossOptions& options) const {
  check_smoothing(options.label_smoothing);
  if (ndim() == 0) throw fail(ErrorKind::Invalid, "logits of shape (), expected classes");
  const i64 axis = ndim() == 1 ? 0 : 1;
  const Tensor log_probabilities = log_softmax(axis);
  if (labels.shape() != shape())
    return class_loss(log_probabilities, axis, labels, weight, options);
  Tensor wanted = labels;
  if (options.label_smoothing != 0) {
    wanted = (1 - options.label_smoothing) * wanted +
             options.label_smoothing / static_cast<f64>(size(axis).value());
  }
  const Tensor weights = along(weight, *this, axis);
  Tensor products = log_probabilities * wanted;
  if (weights.defined()) products = products * weights;
  return reduced(products.sum(axis).neg(), options.reduction);
}

Tensor Tensor::nll_loss(const Tensor& labels, const LossOptions& options) const {
  return nll_loss(labels, Tensor(), options);
}

Tensor Tensor::nll_loss(const Tensor& labels, const Tensor& weight,
                        const LossOptions& options) const {
  if (ndim() == 0) {
    throw fail(ErrorKind::Invalid, "log probabilities of shape (), expected (n, classes, ...)");
  }
  if (options.label_smoothing != 0) {
    throw fail(ErrorKind::Invalid, "nll_loss with label smoothing of {}, which it lacks",
               options.label_smoothing);
  }
  return class_loss(*this, ndim() == 1 ? 0 : 1, labels, weight, options);
}

namespace {

// At least -100, as PyTorch has it.
Tensor bounded_log(const Tensor& x) {
  return doorbell::where(x > 0, x.log().maximum(-100.0), -100.0);
}

// PyTorch's gradients: that for the probabilities is bounded at 0 and 1 by a divisor of 1e-12,
// that for the labels is not.
Tensor binary_derivative(const Tensor& gradient, const std::vector<Tensor>& inputs, usize input) {
  const Tensor x = detail::widened(inputs[0]);
  constexpr f64 kMin = 1e-12f;  // a float there
  if (input == 0) return gradient * ((x - inputs[1]) / ((1 - x) * x).maximum(kMin));
  return gradient * ((1 - x).log() - x.log());
}

}  // namespace

Tensor Tensor::binary_crossentropy(const Tensor& labels, const LossOptions& options) const {
  return binary_crossentropy(labels, Tensor(), options);
}

Tensor Tensor::binary_crossentropy(const Tensor& labels, const Tensor& weight,
                                   const LossOptions& options) const {
  const Tensor value = (labels * bounded_log(*this) + (1 - labels) * bounded_log(1 - *this)).neg();
  const Tensor loss = detail::with_derivative(value, {*this, labels}, binary_derivative);
  return reduced(weight.defined() ? loss * weight : loss, options.reduction);
}

Tensor Tensor::binary_crossentropy_logits(const Tensor& labels, const LossOptions& options) const {
  return binary_crossentropy_logits(labels, Tensor(), Tensor(), options);
}

// (1 - y) x + log(1 + exp(-x)), the second part weighted where 1s are.
Tensor Tensor::binary_crossentropy_logits(const Tensor& labels, const Tensor& weight,
                                          const Tensor& pos_weight,
                                          const LossOptions& options) const {
  Tensor soft = neg().softplus();
  if (pos_weight.defined()) soft = ((pos_weight - 1) * labels + 1) * soft;
  const Tensor loss = (1 - labels) * *this + soft;
  return reduced(weight.defined() ? loss * weight : loss, options.reduction);
}

}  // namespace doorbell
