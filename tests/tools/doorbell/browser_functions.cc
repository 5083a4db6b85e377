// Functions for export_wgsl_test.py, which runs them in a browser and has what they must give.
#include <doorbell/doorbell.h>

using namespace doorbell;

int main() {
  Tensor count = Tensor::zeros({}, {.dtype = dtypes::i32}), last = Tensor::zeros({2});
  count.realize(), last.realize();
  auto step = jit(
      [&](const Tensor& x) {
        const Tensor before = last + 0;
        last.assign(x);
        count += 1;
        return std::pair(before, count + 0);
      },
      {.name = "step"});
  const Tensor pair = Tensor::of({1.0, 2.0});
  step(pair), step(pair);

  Tensor a = Tensor::of({1, 2}), b = Tensor::of({3, 4});
  auto swap = jit(
      [&](const Tensor& x) {
        const Tensor old = a.clone();
        a.assign(b.clone());
        b.assign(old);
        return x + a;
      },
      {.name = "swap"});
  const Tensor zero = Tensor::of({0, 0});
  swap(zero), swap(zero);  // now as it began

  const Variable n("n", 1, 8);
  const Tensor table = Tensor::arange(8).realize();
  auto total =
      jit([&](const Size& size) { return table.shrink({{0, size}}).sum(); }, {.name = "total"});
  total(n.bind(2)), total(n.bind(3));

  auto types = jit(
      [](const Tensor& bytes, const Tensor& wide, const Tensor& half) {
        return std::tuple(bytes + 250, bytes > 3, wide * wide, half.cast(dtypes::f32) / 4,
                          (half + 1).cast(dtypes::bf16));
      },
      {.name = "types"});
  const Tensor bytes = Tensor::of({1, 2, 3, 4, 5}).cast(dtypes::u8).realize();
  const Tensor wide = Tensor::of({1, 2, 3}).cast(dtypes::i64).realize();
  const Tensor half = Tensor::of({1.0, 2.0, 3.0}).cast(dtypes::f16).realize();
  types(bytes, wide, half), types(bytes, wide, half);

  auto change = jit(
      [](Tensor x) {
        x += 1;
        return x.sum();
      },
      {.name = "change"});
  Tensor x = Tensor::of({1.0, 2.0}).realize();
  change(x), change(x);
}
