// Products, attention, and expressions of 64 MiB per tensor, which is beyond the caches.
#include "bench/kernels/workloads.h"

namespace doorbell::bench {
namespace {

using nlohmann::json;

// Products are named rows x depth x columns.
struct NamedProduct {
  const char* name;
  Product product;
};
constexpr NamedProduct kProducts[] = {
    {"matmul 512", {512, 512, 512}},           {"matmul 1024", {1024, 1024, 1024}},
    {"matmul 2048", {2048, 2048, 2048}},       {"matmul 4096", {4096, 4096, 4096}},
    {"matmul 777", {777, 777, 777}},           {"matmul 1000", {1000, 1000, 1000}},
    {"matmul 1500", {1500, 1500, 1500}},       {"matmul 2500", {2500, 2500, 2500}},
    {"matmul 3000", {3000, 3000, 3000}},       {"matmul 513x511x509", {513, 509, 511}},
    {"matmul 1x4096x4096", {1, 4096, 4096}},   {"matmul 64x4096x4096", {64, 4096, 4096}},
    {"matmul 128x768x3072", {128, 3072, 768}}, {"matmul 4096x64x4096", {4096, 4096, 64}},
};

struct Elementwise {
  const char *name, *what;
  f64 flops;  // of an element
  i64 moved;  // matrices read or written
  Tensor (*expression)(const Tensor& a, const Tensor& b, const Tensor& row, const Tensor& column);
};
constexpr Elementwise kElementwise[] = {
    {"add 64 MiB", "add", 1, 3, [](auto& a, auto& b, auto&, auto&) { return a + b; }},
    {"sum 64 MiB", "sum", 1, 1, [](auto& a, auto&, auto&, auto&) { return a.sum(); }},
    {"softmax 4096x4096", "softmax", 5, 2,
     [](auto& a, auto&, auto&, auto&) { return a.softmax(); }},
    {"layernorm 4096x4096", "layernorm", 8, 2,
     [](auto& a, auto&, auto& row, auto&) { return a.layernorm() * row + row; }},
    {"gelu 64 MiB", "gelu", 15, 2, [](auto& a, auto&, auto&, auto&) { return a.gelu(); }},
    {"matvec 4096", "matvec", 2, 1,
     [](auto& a, auto&, auto&, auto& column) { return a.matmul(column); }},
};

KernelRun elementwise_run(const Elementwise& e, i64 n) {
  const Tensor a = random_input({n, n}), b = e.moved == 3 ? random_input({n, n}) : a;
  const Tensor row = random_input({n}), column = random_input({n, 1});
  const f64 elements = static_cast<f64>(n * n);
  return {{e.flops * elements, static_cast<f64>(e.moved) * bytes_of({a}), e.moved == 1},
          [=, expression = e.expression] { expression(a, b, row, column).realize(); }};
}

KernelWorkload attention(i64 length, i64 width, i64 heads) {
  const json task{{"kind", "attention"}, {"length", length}, {"width", width}, {"heads", heads}};
  return {fmt::format("attention {}x{}x{}", length, width, heads), task, [=] {
            const Shape shape{1, heads, length, width};
            const Tensor q = random_input(shape), k = random_input(shape), v = random_input(shape);
            const f64 flops = 4.0 * static_cast<f64>(heads * length * length * width);
            return KernelRun{{flops, bytes_of({q, k, v, q})},
                             [=] { q.scaled_dot_product_attention(k, v).realize(); }};
          }};
}

}  // namespace

Tensor random_input(const Shape& shape) { return Tensor::randn(shape).realize(); }

f64 bytes_of(std::initializer_list<Tensor> tensors) {
  f64 bytes = 0;
  for (const Tensor& tensor : tensors) bytes += static_cast<f64>(tensor.nbytes());
  return bytes;
}

KernelWorkload product_workload(std::string name, const Product& p, DType dtype) {
  const json task{{"kind", "matmul"}, {"m", p.m}, {"n", p.n}, {"k", p.k}, {"dtype", dtype.str()}};
  return {std::move(name), task, [p, dtype] {
            const auto values = [&](i64 rows, i64 columns) {
              if (dtype.is_float()) return random_input({rows, columns}).cast(dtype).realize();
              return Tensor::randint(-127, 128, {rows, columns}).cast(dtype).realize();
            };
            const Tensor a = values(p.m, p.k), b = values(p.k, p.n);
            const f64 multiply_adds =
                static_cast<f64>(p.m) * static_cast<f64>(p.n) * static_cast<f64>(p.k);
            const f64 result = static_cast<f64>(std::max<i64>(4, dtype.bytes()) * p.m * p.n);
            const KernelWork work{2 * multiply_adds, bytes_of({a, b}) + result};
            if (dtype.is_float()) return KernelRun{work, [a, b] { a.matmul(b).realize(); }};
            const DType sums = dtypes::i32;  // of 8 bits they would wrap
            return KernelRun{work, [=] { a.cast(sums).matmul(b.cast(sums)).realize(); }};
          }};
}

std::vector<KernelWorkload> kernel_workloads(bool smoke) {
  std::vector<KernelWorkload> list;
  const Product small{32, 32, 32}, square{1024, 1024, 1024};
  for (const NamedProduct& p : kProducts)
    list.push_back(product_workload(p.name, smoke ? small : p.product, dtypes::f32));
  list.push_back(product_workload("matmul 1024 bf16", smoke ? small : square, dtypes::bf16));
  list.push_back(product_workload("matmul 1024 int8", smoke ? small : square, dtypes::i8));
  add_convolutions(smoke, &list);
  const i64 side = smoke ? 64 : 4096;
  for (const Elementwise& e : kElementwise) {
    list.push_back({e.name,
                    {{"kind", "elementwise"}, {"what", e.what}, {"side", side}},
                    [&e, side] { return elementwise_run(e, side); }});
  }
  list.push_back(smoke ? attention(16, 8, 2) : attention(1024, 64, 12));
  add_models(smoke, &list);
  return list;
}

}  // namespace doorbell::bench
