// Training steps that several benchmarks run or compile: the convnet of `doorbell demo` on digits,
// and a deep stack of linear layers that makes any number of kernels.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tensor/nn/layers.h"
#include "tensor/nn/optim.h"
#include "tools/doorbell/convnet.h"

namespace doorbell::bench {

// All tensors of a model as memory of undefined content: compiling does not read it.
template <class Model>
void empty_weights(Model& model) {
  NoGradScope no_grad;
  for (auto& [name, tensor] : nn::state_of(model))
    tensor.assign(Tensor::empty(tensor.shape(), {.dtype = tensor.dtype()}));
}

// A step on a random batch of a data set that lies on the device, as tinygrad's beautiful_mnist
// does it: draw, gather, forward, backward, Adam.
class MnistStep {
 public:
  MnistStep(i64 images, i64 batch) : count_(images), batch_(batch) {
    for (auto& [name, tensor] : nn::state_of(net_))
      if (!tensor.is_leaf()) statistics_.push_back(tensor);
    images_ = Tensor::rand({images, 1, 28, 28}).realize();
    labels_ = Tensor::randint(0, 10, {images}).realize();
  }

  tools::ConvNet& net() { return net_; }
  nn::Adam& optimizer() { return *optimizer_; }
  // To be called once the weights have their values.
  void start() { optimizer_ = std::make_unique<nn::Adam>(nn::parameters_of(net_)); }

  // Loss, new weights, optimiser's state and running statistics, lazily.
  std::vector<Tensor> build() {
    TrainingScope training;
    optimizer_->zero_grad();
    const Tensor samples = Tensor::randint(0, count_, {batch_});
    const Tensor loss = net_(images_.at({{Index(samples)}}))
                            .sparse_categorical_crossentropy(labels_.at({{Index(samples)}}));
    loss.backward();
    std::vector<Tensor> changed = optimizer_->lazy_step();
    changed.push_back(loss);
    changed.insert(changed.end(), statistics_.begin(), statistics_.end());
    return changed;
  }

 private:
  i64 count_, batch_;
  tools::ConvNet net_;
  std::unique_ptr<nn::Adam> optimizer_;
  std::vector<Tensor> statistics_;
  Tensor images_, labels_;
};

// `layers` of Linear(width, width) and relu, and SGD with momentum.
struct LinearStack {
  std::vector<nn::Linear> linears;

  LinearStack(i64 layers, i64 width) {
    for (i64 i = 0; i < layers; ++i) linears.emplace_back(width, width);
  }
  Tensor operator()(Tensor x) {
    for (const nn::Linear& linear : linears) x = linear(x).relu();
    return x;
  }
  void visit(nn::Visitor& visitor) { visitor("linear", linears); }
};

}  // namespace doorbell::bench
