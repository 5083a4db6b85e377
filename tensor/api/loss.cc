// Losses. All work on logits where that is the stable form.
#include "tensor/api/build.h"

namespace doorbell {

namespace {

Tensor reduced(const Tensor& loss, Reduction reduction) {
  switch (reduction) {
    case Reduction::Mean: return loss.mean();
    case Reduction::Sum: return loss.sum();
    case Reduction::None: return loss;
  }
  throw fail(ErrorKind::Invalid, "reduction {}", static_cast<int>(reduction));
}

void check_smoothing(f64 smoothing) {
  if (smoothing < 0 || smoothing > 1) {
    throw fail(ErrorKind::Invalid, "label smoothing of {}, expected 0 to 1", smoothing);
  }
}

void check_labels(const Tensor& x, const Shape& expected, const Tensor& labels) {
  if (labels.shape() != expected) {
    throw fail(ErrorKind::Invalid, "labels of shape {} for logits of shape {}, expected {}",
               labels.shape().str(), x.shape().str(), expected.str());
  }
}

// The mean over the labels that count.
Tensor reduce_masked(const Tensor& loss, const Tensor& counted, Reduction reduction) {
  if (reduction != Reduction::Mean || !counted.defined()) return reduced(loss, reduction);
  return loss.sum() / counted.cast(loss.dtype()).sum();
}

}  // namespace

Tensor Tensor::sparse_categorical_crossentropy(const Tensor& labels,
                                               const LossOptions& options) const {
  check_smoothing(options.label_smoothing);
  if (ndim() == 0) throw fail(ErrorKind::Invalid, "logits of shape (), expected classes");
  Shape expected = shape();
  expected.pop_back();
  check_labels(*this, expected, labels);
  const Tensor log_probabilities = log_softmax(-1);
  const i64 classes = size(-1).value();
  Tensor chosen = detail::one_hot_mask(labels.unsqueeze(-1), classes, -1);
  Tensor counted;
  if (options.ignore_index) {
    counted = labels != *options.ignore_index;
    chosen = chosen & counted.unsqueeze(-1);
  }
  Tensor loss = (log_probabilities * chosen.cast(log_probabilities.dtype())).sum(-1).neg();
  if (options.label_smoothing != 0) {
    Tensor uniform = log_probabilities.mean(-1).neg();
    if (counted.defined()) uniform = doorbell::where(counted, uniform, 0.0);
    loss = (1 - options.label_smoothing) * loss + options.label_smoothing * uniform;
  }
  return reduce_masked(loss, counted, options.reduction);
}

Tensor Tensor::cross_entropy(const Tensor& labels, const LossOptions& options) const {
  check_smoothing(options.label_smoothing);
  if (ndim() == 0) throw fail(ErrorKind::Invalid, "logits of shape (), expected classes");
  const i64 axis = ndim() == 1 ? 0 : 1;
  const i64 classes = size(axis).value();
  const Tensor log_probabilities = log_softmax(axis);
  Tensor wanted = labels;
  if (labels.shape() != shape()) {
    Shape expected = shape();
    expected.erase(expected.begin() + axis);
    check_labels(*this, expected, labels);
    wanted =
        detail::one_hot_mask(labels.unsqueeze(axis), classes, axis).cast(log_probabilities.dtype());
  }
  if (options.label_smoothing != 0) {
    wanted = (1 - options.label_smoothing) * wanted +
             options.label_smoothing / static_cast<f64>(classes);
  }
  return reduced((log_probabilities * wanted).sum(axis).neg(), options.reduction);
}

Tensor Tensor::nll_loss(const Tensor& labels, const LossOptions& options) const {
  if (ndim() < 2) {
    throw fail(ErrorKind::Invalid, "log probabilities of shape {}, expected (n, classes, ...)",
               shape().str());
  }
  Shape expected = shape();
  expected.erase(expected.begin() + 1);
  check_labels(*this, expected, labels);
  Tensor loss = gather(1, labels.unsqueeze(1)).squeeze(1).neg();
  Tensor counted;
  if (options.ignore_index) {
    counted = labels != *options.ignore_index;
    loss = doorbell::where(counted, loss, 0.0);
  }
  return reduce_masked(loss, counted, options.reduction);
}

Tensor Tensor::binary_crossentropy(const Tensor& labels, const LossOptions& options) const {
  const Tensor loss = (labels * log() + (1 - labels) * (1 - *this).log()).neg();
  return reduced(loss, options.reduction);
}

// max(x, 0) - x * y + log(1 + exp(-|x|)).
Tensor Tensor::binary_crossentropy_logits(const Tensor& labels, const LossOptions& options) const {
  const Tensor loss = relu() - *this * labels + (abs().neg().exp() + 1).log();
  return reduced(loss, options.reduction);
}

}  // namespace doorbell
