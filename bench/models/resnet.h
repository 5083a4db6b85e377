// ResNet-18 and ResNet-50 on images of 3 x 224 x 224, laid out as torchvision does it. Weights are
// the layers' initial ones: only the time matters.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "tensor/nn/layers.h"

namespace doorbell::bench {

// A convolution without bias and the norm of what it gives.
struct NormedConv {
  nn::Conv2d conv;
  nn::BatchNorm norm;

  NormedConv(i64 in, i64 out, i64 kernel, i64 stride = 1, i64 groups = 1)
      : conv(in, out, {kernel, kernel}, {.stride = stride, .padding = kernel / 2, .groups = groups},
             {.bias = false}),
        norm(out) {}
  Tensor operator()(const Tensor& x) { return norm(conv(x)); }
  void visit(nn::Visitor& visitor) { visitor("conv", conv), visitor("norm", norm); }
};

// Convolutions with relu between them, and a way around.
struct ResidualBlock {
  std::vector<NormedConv> convs;
  std::vector<NormedConv> shortcut;  // one or none: if the shape changes

  static ResidualBlock basic(i64 in, i64 width, i64 stride) {
    return {{{in, width, 3, stride}, {width, width, 3}}, around(in, width, stride)};
  }
  static ResidualBlock bottleneck(i64 in, i64 width, i64 stride) {
    const i64 out = 4 * width;
    return {{{in, width, 1}, {width, width, 3, stride}, {width, out, 1}}, around(in, out, stride)};
  }
  static std::vector<NormedConv> around(i64 in, i64 out, i64 stride) {
    if (stride == 1 && in == out) return {};
    return {{in, out, 1, stride}};
  }

  Tensor operator()(const Tensor& x) {
    Tensor y = convs[0](x);
    for (usize i = 1; i < convs.size(); ++i) y = convs[i](y.relu());
    return (y + (shortcut.empty() ? x : shortcut[0](x))).relu();
  }
  void visit(nn::Visitor& visitor) { visitor("convs", convs), visitor("shortcut", shortcut); }
};

struct ResNet {
  NormedConv stem{3, 64, 7, 2};
  std::vector<ResidualBlock> blocks;
  nn::Linear linear;

  // So many blocks of each of four widths.
  ResNet(const std::array<i64, 4>& counts, bool bottlenecks)
      : linear(bottlenecks ? 2048 : 512, 1000) {
    i64 in = 64;
    for (usize stage = 0; stage < counts.size(); ++stage) {
      const i64 width = i64{64} << stage;
      for (i64 i = 0; i < counts[stage]; ++i) {
        const i64 stride = stage > 0 && i == 0 ? 2 : 1;
        blocks.push_back(bottlenecks ? ResidualBlock::bottleneck(in, width, stride)
                                     : ResidualBlock::basic(in, width, stride));
        in = bottlenecks ? 4 * width : width;
      }
    }
  }
  Tensor operator()(const Tensor& images) {
    Tensor x = stem(images).relu().max_pool2d({3, 3}, {.stride = 2, .padding = 1});
    for (ResidualBlock& block : blocks) x = block(x);
    return linear(x.mean({2, 3}));
  }
  void visit(nn::Visitor& visitor) {
    visitor("stem", stem), visitor("layer", blocks), visitor("fc", linear);
  }
};

struct ResNet18 : ResNet {
  ResNet18() : ResNet({2, 2, 2, 2}, false) {}
};
struct ResNet50 : ResNet {
  ResNet50() : ResNet({3, 4, 6, 3}, true) {}
};

}  // namespace doorbell::bench
