// The graphs. Weights are memory of undefined content: nothing here is run, only compiled.
#include "bench/compile/workloads.h"

#include <memory>

#include "bench/models/gpt.h"
#include "bench/models/resnet.h"
#include "bench/models/train.h"

namespace doorbell::bench {
namespace {

Tensor input(const Shape& shape) { return Tensor::empty(shape); }

Build add(bool) {
  return [a = input({1024, 1024}), b = input({1024, 1024})] { return std::vector{a + b}; };
}

Build matmul(bool) {
  return [a = input({1024, 1024}), b = input({1024, 1024})] { return std::vector{a.matmul(b)}; };
}

Build softmax(bool) {
  return [a = input({4096, 4096})] { return std::vector{a.softmax()}; };
}

Build layernorm(bool) {
  return [a = input({4096, 4096}), w = input({4096}), b = input({4096})] {
    return std::vector{a.layernorm() * w + b};
  };
}

Build conv(bool) {
  return [x = input({1, 64, 56, 56}), w = input({64, 64, 3, 3})] {
    return std::vector{x.conv2d(w, {.padding = 1})};
  };
}

// shared_ptr: by the copies of the function.
Build resnet18(bool) {
  auto model = std::make_shared<ResNet18>();
  empty_weights(*model);
  return [model, x = input({1, 3, 224, 224})] {
    NoGradScope no_grad;
    return std::vector{(*model)(x)};
  };
}

Build gpt(bool smoke, i64 length, i64 past) {
  GptSizes sizes;
  if (smoke) sizes.layers = 1;
  auto model = std::make_shared<Gpt>(sizes);
  empty_weights(*model);
  std::vector<GptCache> caches;
  const Shape shape{1, sizes.heads, past, sizes.width / sizes.heads};
  for (i64 i = 0; past > 0 && i < sizes.layers; ++i) caches.push_back({input(shape), input(shape)});
  const Tensor numbers = Tensor::empty({1, length}, {.dtype = dtypes::i32});
  return [model, caches, numbers, past] {
    NoGradScope no_grad;
    return std::vector{(*model)(numbers, caches, past)};
  };
}
Build gpt128(bool smoke) { return gpt(smoke, 128, 0); }
Build gpt1(bool smoke) { return gpt(smoke, 1, 127); }

Build mnist(bool) {
  auto step = std::make_shared<MnistStep>(60000, 512);
  empty_weights(step->net());
  step->start();
  return [step] { return step->build(); };
}

// A chain too deep for recursion.
Build chain(bool smoke) {
  const i64 depth = smoke ? 10000 : 1000000;
  return [depth, a = input({1024}), b = input({1024})] {
    NoGradScope no_grad;
    Tensor x = a;
    for (i64 i = 0; i < depth; ++i) x = i % 2 == 0 ? x + b : x * b;
    return std::vector{x};
  };
}

Build many_kernels(bool smoke) {
  auto model = std::make_shared<LinearStack>(smoke ? 10 : 1250, 64);
  empty_weights(*model);
  auto optimizer = std::make_shared<nn::SGD>(nn::parameters_of(*model));
  return [model, optimizer, x = input({32, 64})] {
    TrainingScope training;
    const Tensor loss = (*model)(x).square().mean();
    loss.backward();
    std::vector<Tensor> changed = optimizer->lazy_step();
    changed.push_back(loss);
    return changed;
  };
}

constexpr Workload kWorkloads[] = {
    {"add", "add 1024x1024", add},
    {"matmul", "matmul 1024", matmul},
    {"softmax", "softmax 4096x4096", softmax},
    {"layernorm", "layernorm 4096x4096", layernorm},
    {"conv", "conv 3x3 64->64 56x56", conv},
    {"resnet18", "resnet18 forward bs 1", resnet18},
    {"gpt128", "GPT-2 small, 128 tokens", gpt128},
    {"gpt1", "GPT-2 small, 1 token, 127 cached", gpt1},
    {"mnist", "MNIST convnet step, Adam, bs 512", mnist},
    {"many_kernels", "1,250 linear layers, SGD step", many_kernels, false},
    {"chain", "chain of 1,000,000 nodes", chain, false},
};

}  // namespace

std::span<const Workload> workloads() { return kWorkloads; }

const Workload* find_workload(std::string_view name) {
  for (const Workload& workload : kWorkloads)
    if (workload.name == name) return &workload;
  return nullptr;
}

}  // namespace doorbell::bench
