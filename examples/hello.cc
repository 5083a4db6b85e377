// The first program: a lazy expression and its gradient, which are computed when they are printed.
#include <iostream>

#include <doorbell/doorbell.h>
using namespace doorbell;

int main() {
  Tensor x = Tensor::of({1.0, 2.0, 3.0}, {.requires_grad = true});
  Tensor y = (x * x + 1).sum();
  y.backward();
  std::cout << y << "\n" << x.grad() << "\n";  // tensor(17.) and tensor([2., 4., 6.])
}
