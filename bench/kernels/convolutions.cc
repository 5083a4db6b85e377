// Convolutions and their gradients, of the shapes that networks for images have.
#include "bench/kernels/workloads.h"

namespace doorbell::bench {
namespace {

struct Conv {
  i64 batch, in, out, size, kernel, stride = 1, groups = 1;
};
constexpr Conv kConvs[] = {
    {1, 64, 64, 56, 3},           {8, 64, 64, 56, 3},    {8, 64, 128, 56, 3, 2},
    {1, 256, 64, 56, 1},          {8, 256, 64, 56, 1},   {1, 144, 144, 56, 3, 1, 144},
    {8, 144, 144, 56, 3, 1, 144}, {1, 3, 64, 224, 7, 2}, {8, 3, 64, 224, 7, 2},
};

std::string name_of(const Conv& c) {
  return fmt::format("{} {}x{}{} {}->{} {}x{} bs {}", c.groups > 1 ? "depthwise" : "conv", c.kernel,
                     c.kernel, c.stride > 1 ? fmt::format(" stride {}", c.stride) : "", c.in, c.out,
                     c.size, c.size, c.batch);
}

enum class Wanted : u8 { Output, Input, Weight };
constexpr const char* kResults[] = {"output", "input", "weight"};

KernelRun run_of(const Conv& c, Wanted wanted) {
  const Tensor x = random_input({c.batch, c.in, c.size, c.size});
  const Tensor w = random_input({c.out, c.in / c.groups, c.kernel, c.kernel});
  const Conv2dOptions options{.stride = c.stride, .padding = c.kernel / 2, .groups = c.groups};
  const i64 side = (c.size - 1) / c.stride + 1;
  const Tensor gradient = random_input({c.batch, c.out, side, side});
  const i64 multiply_adds = gradient.numel() * (c.in / c.groups) * c.kernel * c.kernel;
  const KernelWork work{2.0 * static_cast<f64>(multiply_adds), bytes_of({x, w, gradient})};
  if (wanted == Wanted::Output) return {work, [=] { x.conv2d(w, options).realize(); }};
  return {work, [=] {
            const Tensor of = wanted == Wanted::Input ? x : w;
            x.conv2d(w, options).gradient({of}, gradient)[0].realize();
          }};
}

}  // namespace

void add_convolutions(bool smoke, std::vector<KernelWorkload>* list) {
  for (Conv c : kConvs) {
    const std::string name = name_of(c);
    if (smoke) {
      if (c.batch > 1) continue;
      c.size = 8, c.in = std::min<i64>(c.in, 8), c.out = std::min<i64>(c.out, 8);
      c.groups = std::min(c.groups, c.in);
    }
    for (Wanted wanted : {Wanted::Output, Wanted::Input, Wanted::Weight}) {
      if (wanted != Wanted::Output && c.batch == 1 && !smoke) continue;  // of training
      const char* result = kResults[static_cast<usize>(wanted)];
      list->push_back(
          {wanted == Wanted::Output ? name : fmt::format("{}, gradient of {}", name, result),
           {{"kind", "conv"},
            {"batch", c.batch},
            {"in", c.in},
            {"out", c.out},
            {"size", c.size},
            {"kernel", c.kernel},
            {"stride", c.stride},
            {"groups", c.groups},
            {"result", result}},
           [c, wanted] { return run_of(c, wanted); }});
    }
  }
}

}  // namespace doorbell::bench
