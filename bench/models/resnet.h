// ResNet-18 for inference on images of 3 x 224 x 224, laid out as torchvision does it. Weights are
// the layers' initial ones: only the time matters.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tensor/nn/layers.h"

namespace doorbell::bench {

struct ResidualBlock {
  nn::Conv2d conv1, conv2;
  nn::BatchNorm norm1, norm2;
  // One layer or none: if the shape changes, the shortcut is a convolution too.
  std::vector<nn::Conv2d> shortcut;
  std::vector<nn::BatchNorm> shortcut_norm;

  ResidualBlock(i64 in, i64 out, i64 stride)
      : conv1(in, out, {3, 3}, {.stride = stride, .padding = 1}, {.bias = false}),
        conv2(out, out, {3, 3}, {.padding = 1}, {.bias = false}),
        norm1(out),
        norm2(out) {
    if (stride == 1 && in == out) return;
    shortcut.emplace_back(in, out, std::vector<i64>{1, 1}, Conv2dOptions{.stride = stride},
                          nn::LayerOptions{.bias = false});
    shortcut_norm.emplace_back(out);
  }

  Tensor operator()(const Tensor& x) {
    const Tensor inner = norm2(conv2(norm1(conv1(x)).relu()));
    const Tensor outer = shortcut.empty() ? x : shortcut_norm[0](shortcut[0](x));
    return (inner + outer).relu();
  }
  void visit(nn::Visitor& visitor) {
    visitor("conv1", conv1), visitor("bn1", norm1);
    visitor("conv2", conv2), visitor("bn2", norm2);
    visitor("shortcut", shortcut), visitor("shortcut_norm", shortcut_norm);
  }
};

struct ResNet18 {
  nn::Conv2d conv1{3, 64, {7, 7}, {.stride = 2, .padding = 3}, {.bias = false}};
  nn::BatchNorm norm1{64};
  std::vector<ResidualBlock> blocks;
  nn::Linear linear{512, 1000};

  ResNet18() {
    i64 in = 64;
    for (i64 out : {64, 128, 256, 512}) {
      blocks.emplace_back(in, out, out == 64 ? 1 : 2);
      blocks.emplace_back(out, out, 1);
      in = out;
    }
  }
  Tensor operator()(const Tensor& images) {
    Tensor x = norm1(conv1(images)).relu().max_pool2d({3, 3}, {.stride = 2, .padding = 1});
    for (ResidualBlock& block : blocks) x = block(x);
    return linear(x.mean({2, 3}));
  }
  void visit(nn::Visitor& visitor) {
    visitor("conv1", conv1), visitor("bn1", norm1);
    visitor("layer", blocks), visitor("fc", linear);
  }
};

}  // namespace doorbell::bench
