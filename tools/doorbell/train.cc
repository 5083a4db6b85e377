// Batches go to the device as bytes and become numbers from 0 to 1 there.
#include "tools/doorbell/train.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace doorbell::tools {
namespace {

struct Batch {
  Tensor images, labels;
};

// Splits a batch if it divides evenly by the devices; otherwise copies it to each.
Tensor spread(const Tensor& x, const Devices& devices) {
  const i64 count = static_cast<i64>(devices.names().size());
  return x.size(0).value() % count == 0 ? x.shard(devices, 0) : x.to(devices);
}

Batch make_batch(const DigitSet& set, std::span<const u32> digits, const Devices& devices) {
  std::vector<u8> pixels;
  std::vector<i32> labels;
  pixels.reserve(digits.size() * kDigitPixels);
  for (u32 digit : digits) {
    const auto first = set.images.begin() + static_cast<std::ptrdiff_t>(digit) * kDigitPixels;
    pixels.insert(pixels.end(), first, first + kDigitPixels);
    labels.push_back(set.labels[digit]);
  }
  const i64 count = static_cast<i64>(digits.size());
  const Tensor bytes = spread(Tensor::from_data(pixels, {count, 1, 28, 28}), devices);
  return {bytes.cast(dtypes::f32) / 255, spread(Tensor::from_data(labels, {count}), devices)};
}

std::vector<Tensor> parameters_on(ConvNet& net, const Devices& devices) {
  for (auto& [name, tensor] : nn::state_of(net)) tensor.to_(devices);
  return nn::parameters_of(net);
}

}  // namespace

Shuffle::Shuffle(usize count, u64 seed) : order_(count), random_(seed) {
  std::iota(order_.begin(), order_.end(), 0u);
}

std::span<const u32> Shuffle::next_epoch() {
  for (usize i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random_() % i]);
  return order_;
}

Trainer::Trainer(f64 rate, const Devices& devices)
    : devices_(devices), optimizer_(parameters_on(net_, devices), rate) {
  for (auto& [name, tensor] : nn::state_of(net_))
    if (!tensor.is_leaf()) statistics_.push_back(tensor);
}

Tensor Trainer::step(const DigitSet& set, std::span<const u32> batch) {
  TrainingScope training;
  const Batch digits = make_batch(set, batch, devices_);
  optimizer_.zero_grad();
  const Tensor loss = net_(digits.images).sparse_categorical_crossentropy(digits.labels);
  loss.backward();
  std::vector<Tensor> also = statistics_;
  also.push_back(loss);
  optimizer_.step(also);
  return loss;
}

i64 Trainer::count_correct(const DigitSet& set) {
  constexpr usize kBatch = 500;  // divides both held-out sets, so that one shape is compiled
  NoGradScope no_grad;
  std::vector<u32> all(set.size());
  std::iota(all.begin(), all.end(), 0u);
  i64 correct = 0;
  for (usize begin = 0; begin < all.size(); begin += kBatch) {
    const usize count = std::min(kBatch, all.size() - begin);
    const Batch batch = make_batch(set, std::span(all).subspan(begin, count), devices_);
    correct += (net_(batch.images).argmax(1) == batch.labels).sum().item<i32>();
  }
  return correct;
}

i64 Trainer::weight_count() const {
  i64 count = 0;
  for (const Tensor& parameter : optimizer_.parameters()) count += parameter.numel();
  return count;
}

}  // namespace doorbell::tools
