// MobileNet v2 on images of 3 x 224 x 224 (arxiv.org/abs/1801.04381, table 2), as torchvision lays
// it out. Weights are the layers' initial ones.
#pragma once

#include <vector>

#include "bench/models/resnet.h"

namespace doorbell::bench {

// Wide inside: 1x1, 3x3 of each channel by itself, 1x1.
struct InvertedResidual {
  std::vector<NormedConv> widen;  // none where it is not wider inside
  NormedConv depthwise, narrow;
  bool around;

  InvertedResidual(i64 in, i64 out, i64 stride, i64 expansion)
      : depthwise(in * expansion, in * expansion, 3, stride, in * expansion),
        narrow(in * expansion, out, 1),
        around(stride == 1 && in == out) {
    if (expansion > 1) widen.emplace_back(in, in * expansion, 1);
  }
  Tensor operator()(const Tensor& x) {
    const Tensor inside = widen.empty() ? x : widen[0](x).relu6();
    const Tensor y = narrow(depthwise(inside).relu6());
    return around ? x + y : y;
  }
  void visit(nn::Visitor& visitor) {
    visitor("widen", widen), visitor("depthwise", depthwise), visitor("narrow", narrow);
  }
};

struct MobileNetV2 {
  NormedConv stem{3, 32, 3, 2};
  std::vector<InvertedResidual> blocks;
  NormedConv head{320, 1280, 1};
  nn::Linear linear{1280, 1000};

  MobileNetV2() {
    constexpr struct {
      i64 expansion, out, count, stride;
    } kStages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                   {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
    i64 in = 32;
    for (const auto& stage : kStages) {
      for (i64 i = 0; i < stage.count; ++i) {
        blocks.emplace_back(in, stage.out, i == 0 ? stage.stride : 1, stage.expansion);
        in = stage.out;
      }
    }
  }
  Tensor operator()(const Tensor& images) {
    Tensor x = stem(images).relu6();
    for (InvertedResidual& block : blocks) x = block(x);
    return linear(head(x).relu6().mean({2, 3}));
  }
  void visit(nn::Visitor& visitor) {
    visitor("stem", stem), visitor("blocks", blocks);
    visitor("head", head), visitor("fc", linear);
  }
};

}  // namespace doorbell::bench
