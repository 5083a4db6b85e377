// A program outside the tree: what it includes and links to is what was installed.
#include <cstdio>

#include <doorbell/doorbell.h>

int main() {
  using namespace doorbell;
  Tensor x = Tensor::of({1.0, 2.0, 3.0}, {.requires_grad = true});
  (x * x + 1).sum().backward();
  nn::Linear layer(3, 2, {.bias = false});  // options named in part give no warning either
  const Tensor y = layer(x.detach().reshape({1, 3}));
  std::printf("%g %lld\n", x.grad().sum().item<double>(), static_cast<long long>(y.numel()));
}
