// A pool of values; each step takes some and adds one.
#include "conformance/random_graph.h"

#include <vector>

#include "conformance/values.h"
#include "tensor/dist/mesh.h"

namespace doorbell::conformance {
namespace {

class Maker {
 public:
  Maker(u32 seed, const std::string& device) : device_(device), state_(seed * 747796405u + 1) {}

  Tensor make(int steps) {
    for (u32 i = 0; i < 3; ++i) pool_.push_back(laid_out(noise(shape())));
    for (int i = 0; i < steps; ++i) {
      const Tensor next = step();
      pool_.push_back(next.devices().size() > 1 && below(4) == 0 ? laid_out(next) : next);
    }
    // Unused values are not part of the graph: combine the last few, so that more are used.
    Tensor sum = pool_.back().sum();
    for (usize i = 2; i <= 4; ++i) sum = sum + pool_[pool_.size() - i].mean();
    return Tensor::cat({sum.reshape({1}), pool_.back().reshape({-1})});
  }

 private:
  u32 below(u32 bound) {
    state_ = state_ * 1664525u + 1013904223u;
    return (state_ >> 8) % bound;
  }
  // Values of magnitude about 1.
  Tensor noise(const std::vector<i64>& sizes) {
    std::vector<float> values;
    for (i64 i = 0, count = count_of(sizes); i < count; ++i)
      values.push_back(static_cast<float>(below(1 << 21)) / (1 << 20) - 1);
    return Tensor::from_data(values, sizes, {.device = device_});
  }
  std::vector<i64> shape() {
    std::vector<i64> sizes;
    for (u32 i = 0, rank = below(4); i < rank; ++i) sizes.push_back(1 + below(5));
    return sizes;
  }
  Tensor pick() {
    return pool_[pool_.size() - 1 - below(std::min<u32>(4, static_cast<u32>(pool_.size())))];
  }
  // On several devices: along an axis that they can share, or as copies.
  Tensor laid_out(const Tensor& x) {
    const i64 count = static_cast<i64>(Devices(device_).names().size());
    if (count == 1 || x.ndim() == 0) return x;
    if (count == 4 && below(2) == 0) return over_mesh(x);
    const i64 along = axis(x);
    return x.size(along).value() % count == 0 ? x.shard(device_, along) : x.to(device_);
  }
  Tensor over_mesh(const Tensor& x) {
    dist::MeshPlacements placements;
    std::vector<i64> rest = x.shape().values();
    for (int i = 0; i < 2; ++i) {
      const i64 along = axis(x);
      i64& size = rest[static_cast<usize>(along)];
      const bool is_split = size % 2 == 0;
      if (is_split) size /= 2;
      placements.push_back(is_split ? dist::Shard(along) : dist::Replicate());
    }
    return dist::distribute_tensor(x, {device_, {2, 2}}, placements);
  }
  i64 axis(const Tensor& x) { return below(static_cast<u32>(x.ndim())); }

  Tensor step() {
    const Tensor x = pick();
    if (x.ndim() == 0 || x.numel() > 400) return x.sum().expand({1 + below(3), 2}).tanh();
    switch (below(16)) {
      case 0: return combine(x, pick());
      case 1: return x.sum(axis(x)).tanh();
      case 2: return x.max(axis(x), {.keepdim = true}) * 0.5;
      case 3: return x.transpose(axis(x), axis(x)).contiguous();
      case 4: return x.reshape({-1}).flip(0);
      case 5: return x.ndim() < 3 ? Tensor::stack({x, x * 0.5}, axis(x)) : x.mean(0);
      case 6: return padded(x);
      case 7: return x[{Ellipsis, Slice(None, None, below(2) ? -1 : 2)}];
      case 8: return x.cumsum(axis(x)).sin();
      case 9: return doorbell::where(x < 0.1, x * 2, 0.25).exp2() - 1;
      case 10: return x.softmax(axis(x));
      case 11: return (x * 8).cast(dtypes::i32).mod(5).cast(dtypes::f32) * 0.2;
      case 12: return x.gather(axis(x), x.full_like(0).cast(dtypes::i32));
      case 13: return x.unsqueeze(-1).matmul(x.unsqueeze(-2)).sum(-1).tanh();
      case 14: return Tensor::arange(x.size(-1).value(), {.device = device_}) * 0.125 + x;
      default: return x.relu() - x.detach().abs() * 0.3;
    }
  }
  Tensor combine(const Tensor& x, const Tensor& y) {
    const Tensor other = x.shape() == y.shape() ? y : y.sum();
    return below(2) ? (x + other) * 0.5 : x.maximum(other * x);
  }
  Tensor padded(const Tensor& x) {
    std::vector<std::pair<i64, i64>> amounts;
    for (i64 i = 0; i < x.ndim(); ++i) {
      const i64 cut = x.size(i).value() > 2 ? -1 : 0;
      amounts.emplace_back(below(2) ? 1 : cut, below(2));
    }
    return x.pad(amounts, {.value = below(2) ? 0.0 : 0.75});
  }

  std::string device_;
  u32 state_;
  std::vector<Tensor> pool_;
};

}  // namespace

Tensor random_graph(u32 seed, int steps, const std::string& device) {
  return Maker(seed, device).make(steps);
}

}  // namespace doorbell::conformance
