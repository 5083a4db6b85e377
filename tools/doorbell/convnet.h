// The convolutional network of `doorbell demo`: two blocks of convolutions for digits of 28 x 28,
// as PyTorch's and tinygrad's MNIST examples have it. The benchmarks train the same one.
#pragma once

#include "tensor/nn/layers.h"

namespace doorbell::tools {

struct ConvNet {
  nn::Conv2d conv1{1, 32, {5, 5}}, conv2{32, 32, {5, 5}}, conv3{32, 64, {3, 3}},
      conv4{64, 64, {3, 3}};
  nn::BatchNorm norm1{32}, norm2{64};
  nn::Linear linear{576, 10};

  // (n, 1, 28, 28), from 0 to 1, to logits (n, 10).
  Tensor operator()(const Tensor& images) {
    Tensor x = norm1(conv2(conv1(images).relu()).relu()).max_pool2d({2, 2});
    x = norm2(conv4(conv3(x).relu()).relu()).max_pool2d({2, 2});
    return linear(x.flatten(1));
  }
  void visit(nn::Visitor& visitor) {
    visitor("conv1", conv1), visitor("conv2", conv2), visitor("norm1", norm1);
    visitor("conv3", conv3), visitor("conv4", conv4), visitor("norm2", norm2);
    visitor("linear", linear);
  }
};

}  // namespace doorbell::tools
