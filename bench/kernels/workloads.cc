// Expressions over realized random inputs. The large ones are 64 MiB per tensor: beyond the caches.
#include "bench/kernels/workloads.h"

#include <memory>

#include "bench/models/train.h"

namespace doorbell::bench {
namespace {

Tensor input(const Shape& shape) { return Tensor::randn(shape).realize(); }

f64 bytes_of(std::initializer_list<Tensor> tensors) {
  i64 bytes = 0;
  for (const Tensor& tensor : tensors) bytes += tensor.nbytes();
  return static_cast<f64>(bytes);
}

template <i64 m, i64 k = m, i64 n = m>
KernelRun matmul(bool smoke) {
  return product_run(smoke ? Product{32, 32, 32} : Product{m, n, k});
}

template <i64 batch>
KernelRun conv(bool smoke) {
  const i64 size = smoke ? 8 : 56;
  const Tensor x = input({batch, 64, size, size}), w = input({64, 64, 3, 3});
  const f64 flops = 2.0 * 64 * 64 * 9 * static_cast<f64>(batch * size * size);
  return {{flops, 2 * bytes_of({x}) + bytes_of({w})},
          [x, w] { x.conv2d(w, {.padding = 1}).realize(); }};
}

i64 large_side(bool smoke) { return smoke ? 64 : 4096; }

KernelRun add(bool smoke) {
  const i64 n = large_side(smoke);
  const Tensor a = input({n, n}), b = input({n, n});
  return {{static_cast<f64>(n * n), 1.5 * bytes_of({a, b})}, [a, b] { (a + b).realize(); }};
}

KernelRun sum(bool smoke) {
  const i64 n = large_side(smoke);
  const Tensor a = input({n, n});
  return {{static_cast<f64>(n * n), bytes_of({a}), true}, [a] { a.sum().realize(); }};
}

KernelRun softmax(bool smoke) {
  const i64 n = large_side(smoke);
  const Tensor a = input({n, n});
  return {{5.0 * static_cast<f64>(n * n), 2 * bytes_of({a})}, [a] { a.softmax().realize(); }};
}

KernelRun layernorm(bool smoke) {
  const i64 n = large_side(smoke);
  const Tensor a = input({n, n}), w = input({n}), b = input({n});
  return {{8.0 * static_cast<f64>(n * n), 2 * bytes_of({a})},
          [a, w, b] { (a.layernorm() * w + b).realize(); }};
}

KernelRun gelu(bool smoke) {
  const i64 n = large_side(smoke);
  const Tensor a = input({n, n});
  return {{15.0 * static_cast<f64>(n * n), 2 * bytes_of({a})}, [a] { a.gelu().realize(); }};
}

KernelRun matvec(bool smoke) {
  const i64 n = large_side(smoke);
  const Tensor a = input({n, n}), x = input({n, 1});
  return {{2.0 * static_cast<f64>(n * n), bytes_of({a}), true}, [a, x] { a.matmul(x).realize(); }};
}

// The convnet's arithmetic: forward, and twice that backward.
KernelRun mnist(bool smoke) {
  const i64 batch = smoke ? 8 : 512, images = smoke ? 64 : 8000;
  constexpr f64 kForwardPerImage = 2.0 * (24 * 24 * 32 * 25.0 + 20 * 20 * 32 * 32 * 25.0 +
                                          8 * 8 * 64 * 32 * 9.0 + 6 * 6 * 64 * 64 * 9.0 + 5760.0);
  auto step = std::make_shared<MnistStep>(images, batch);  // by the copies of the function
  step->start();
  return {{3 * kForwardPerImage * static_cast<f64>(batch), 0},
          [step] { Tensor::realize(step->build()); }};
}

// Products are named rows x depth x columns.
constexpr KernelWorkload kWorkloads[] = {
    {"matmul 512", matmul<512>, {512, 512, 512}},
    {"matmul 1024", matmul<1024>, {1024, 1024, 1024}},
    {"matmul 2048", matmul<2048>, {2048, 2048, 2048}},
    {"matmul 4096", matmul<4096>, {4096, 4096, 4096}},
    {"matmul 777", matmul<777>, {777, 777, 777}},
    {"matmul 1000", matmul<1000>, {1000, 1000, 1000}},
    {"matmul 1500", matmul<1500>, {1500, 1500, 1500}},
    {"matmul 2500", matmul<2500>, {2500, 2500, 2500}},
    {"matmul 3000", matmul<3000>, {3000, 3000, 3000}},
    {"matmul 513x511x509", matmul<513, 511, 509>, {513, 509, 511}},
    {"matmul 1x4096x4096", matmul<1, 4096, 4096>, {1, 4096, 4096}},
    {"matmul 64x4096x4096", matmul<64, 4096, 4096>, {64, 4096, 4096}},
    {"matmul 128x768x3072", matmul<128, 768, 3072>, {128, 3072, 768}},
    {"matmul 4096x64x4096", matmul<4096, 64, 4096>, {4096, 4096, 64}},
    {"conv 3x3 64->64 56x56 bs 1", conv<1>},
    {"conv 3x3 64->64 56x56 bs 8", conv<8>},
    {"add 64 MiB", add},
    {"sum 64 MiB", sum},
    {"softmax 4096x4096", softmax},
    {"layernorm 4096x4096", layernorm},
    {"gelu 64 MiB", gelu},
    {"matvec 4096", matvec},
    {"MNIST convnet step, Adam, bs 512", mnist},
};

}  // namespace

std::span<const KernelWorkload> kernel_workloads() { return kWorkloads; }

KernelRun product_run(const Product& p) {
  const Tensor a = input({p.m, p.k}), b = input({p.k, p.n});
  const f64 multiply_adds = static_cast<f64>(p.m) * static_cast<f64>(p.n) * static_cast<f64>(p.k);
  const f64 result = 4 * static_cast<f64>(p.m * p.n);
  return {{2 * multiply_adds, bytes_of({a, b}) + result}, [a, b] { a.matmul(b).realize(); }};
}

}  // namespace doorbell::bench
