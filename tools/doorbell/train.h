// Trains on digits: draws batches in an order that the seed determines, runs steps of Adam, and
// counts correctly classified digits. For the output see demo.cc.
#pragma once

#include <random>
#include <span>
#include <vector>

#include "tensor/nn/optim.h"
#include "tools/doorbell/convnet.h"
#include "tools/doorbell/digits.h"

namespace doorbell::tools {

// The order of digits, epoch after epoch. Equal for equal seeds on every machine, which
// std::shuffle does not promise.
class Shuffle {
 public:
  Shuffle(usize count, u64 seed);
  std::span<const u32> next_epoch();

 private:
  std::vector<u32> order_;
  std::mt19937_64 random_;
};

class Trainer {
 public:
  // Weights come from Tensor::manual_seed. Several devices share each batch.
  Trainer(f64 rate, const Devices& devices);

  // One step on these digits of the set. Returns the realized loss.
  Tensor step(const DigitSet& set, std::span<const u32> batch);
  void set_learning_rate(f64 rate) { optimizer_.set_learning_rate(rate); }
  // The number of digits that the network classifies correctly.
  i64 count_correct(const DigitSet& set);
  i64 weight_count() const;

 private:
  Devices devices_;
  ConvNet net_;
  nn::Adam optimizer_;
  std::vector<Tensor> statistics_;  // running statistics of the norms
};

}  // namespace doorbell::tools
