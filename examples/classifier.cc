// A classifier as a jitted function, to be run here, or exported and run from C:
//   doorbell export --folder out -- build/examples/classifier
//   cc -Iout program.c -Lout -lclassify -o program
#include <iostream>

#include <doorbell/doorbell.h>

using namespace doorbell;

struct Classifier {
  nn::Linear hidden{4, 16}, output{16, 3};

  Tensor operator()(const Tensor& x) const { return output(hidden(x).relu()).softmax(); }
  void visit(nn::Visitor& visitor) {
    visitor("hidden", hidden);
    visitor("output", output);
  }
};

int main() {
  Tensor::manual_seed(5);
  Classifier model;
  auto classify = jit([&](const Tensor& x) { return model(x); }, {.name = "classify"});
  const Tensor x = Tensor::of({{0.5, -1.0, 2.0, 0.25}});
  classify(x);                             // runs it
  std::cout << classify(x).str() << "\n";  // and captures it
}
