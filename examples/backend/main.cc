// A program on an accelerator that Doorbell does not know: a layer is trained on Abacus, then on
// the CPU, and both losses agree.
#include <cmath>
#include <iostream>

#include "examples/backend/backend.h"
#include "runtime/doorbell.h"

using namespace doorbell;

namespace {

// The loss after ten steps of a linear regression.
float train(const std::string& device) {
  Tensor::manual_seed(7);
  Tensor x = Tensor::rand({64, 3}).to(device);
  Tensor y = x.dot(Tensor::of({{1.0}, {-2.0}, {0.5}}).to(device)) + 0.25;
  // Drawn on one device, so that both trainings begin with equal weights.
  Tensor weight = Tensor::rand({3, 1}).to(device).requires_grad();
  Tensor bias = Tensor::zeros({1}, {.device = device, .requires_grad = true});
  nn::SGD optimizer(std::vector{weight, bias}, 0.5);
  float last = 0;
  for (int step = 0; step < 10; ++step) {
    optimizer.zero_grad();
    Tensor loss = (x.dot(weight) + bias - y).square().mean();
    loss.backward();
    optimizer.step({loss});
    last = loss.item<float>();
  }
  return last;
}

}  // namespace

int main() {
  if (Result<void> added = abacus::add_abacus(); !added) {
    std::cerr << to_string(added.error()) << "\n";
    return 1;
  }
  const float there = train("ABACUS"), here = train("CPU");
  std::cout << "loss on ABACUS " << there << ", on CPU " << here << "\n";
  return std::abs(there - here) < 1e-5f ? 0 : 1;
}
