// The workloads, and how one is timed.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/os/clock.h"
#include "base/os/host.h"
#include "tensor/api/tensor.h"
#include "tensor/engine/must.h"
#include "tensor/jit/jit.h"
#include "tools/doorbell/throughput/workload.h"

namespace doorbell::tools::throughput {
namespace {

using core::DType;

constexpr i64 kRow = 4096;              // elements of a row of softmax and of layer normalization
constexpr i64 kHeads = 16, kHead = 64;  // of attention
constexpr f64 kSampleSeconds = 0.02;    // calls in a row last about so long,
constexpr i64 kMostCalls = 16;          // but are not more than these

// Normal values, stored.
Tensor filled(const Request& request, const Shape& shape, DType dtype) {
  const TensorOptions on{.device = request.device.name()};
  return Tensor::randn(shape, on).cast(dtype).contiguous().realize();
}

// A jitted function with its inputs, as one call.
template <class F, class... Inputs>
std::function<void()> call_of(F function, const Inputs&... inputs) {
  auto jitted = std::make_shared<Jit<F>>(std::move(function));
  return [jitted, inputs...] { (*jitted)(inputs...); };
}

std::vector<i64> sizes_or(const Request& request, std::vector<i64> usual) {
  return request.sizes.empty() ? std::move(usual) : request.sizes;
}

f64 square(f64 x) { return x * x; }

// The kernels of `bandwidth` over a matrix of `rows` rows.
std::vector<Workload> memory_bound(const Request& request, DType dtype, i64 rows) {
  const Shape shape{rows, kRow};
  const f64 operand = static_cast<f64>(rows * kRow) * static_cast<f64>(dtype.bytes());
  const std::string size = fmt::format("{} x {}", rows, kRow);
  const auto unary = [&](std::string name, f64 operands, Tensor (*function)(const Tensor&)) {
    return Workload{fmt::format("{} {} {}", name, dtype.str(), size),
                    dtype,
                    0,
                    operands * operand,
                    0,
                    [request, shape, dtype, function] {
                      return call_of(function, filled(request, shape, dtype));
                    }};
  };
  std::vector<Workload> list;
  list.push_back(unary("scale", 2, [](const Tensor& x) { return x * 0.5; }));
  list.push_back({fmt::format("add {} {}", dtype.str(), size), dtype, 0, 3 * operand, 0,
                  [request, shape, dtype] {
                    return call_of([](const Tensor& x, const Tensor& y) { return x + y; },
                                   filled(request, shape, dtype), filled(request, shape, dtype));
                  }});
  list.push_back(unary("sum", 1, [](const Tensor& x) { return x.sum(); }));
  list.push_back(unary("row sums", 1, [](const Tensor& x) { return x.sum(-1); }));
  list.push_back(
      unary("transpose", 2, [](const Tensor& x) { return x.transpose(0, 1).contiguous(); }));
  list.push_back(unary("softmax", 2, [](const Tensor& x) { return x.softmax(-1); }));
  list.push_back(unary("layernorm", 2, [](const Tensor& x) { return x.layernorm(); }));
  return list;
}

f64 seconds_of(const std::function<void()>& call, const std::function<void()>& wait, i64 calls) {
  os::Clock& clock = os::host_clock();
  const u64 begin = clock.now_ns();
  for (i64 i = 0; i < calls; ++i) call();
  wait();
  return static_cast<f64>(clock.now_ns() - begin) * 1e-9;
}

}  // namespace

std::vector<Workload> gemm(const Request& request) {
  std::vector<Workload> list;
  for (DType dtype : request.dtypes) {
    for (i64 n : sizes_or(request, {512, 1024, 2048, 4096, 8192})) {
      list.push_back(
          {fmt::format("{} {} x {} x {}", dtype.str(), n, n, n), dtype,
           2 * square(static_cast<f64>(n)) * static_cast<f64>(n), 0, n, [request, dtype, n] {
             return call_of([](const Tensor& x, const Tensor& y) { return x.matmul(y); },
                            filled(request, {n, n}, dtype), filled(request, {n, n}, dtype));
           }});
    }
  }
  return list;
}

std::vector<Workload> bandwidth(const Request& request) {
  std::vector<Workload> list;
  for (DType dtype : request.dtypes) {
    for (i64 bytes : sizes_or(request, {i64{16} << 20, i64{256} << 20})) {
      const i64 rows = bytes / (kRow * static_cast<i64>(dtype.bytes()));
      if (rows == 0) {
        throw fail(ErrorKind::Invalid, "--sizes {}: one row of {} {} takes {} bytes", bytes, kRow,
                   dtype.str(), kRow * static_cast<i64>(dtype.bytes()));
      }
      std::vector<Workload> more = memory_bound(request, dtype, rows);
      std::ranges::move(more, std::back_inserter(list));
    }
  }
  return list;
}

std::vector<Workload> attention(const Request& request) {
  std::vector<Workload> list;
  for (DType dtype : request.dtypes) {
    for (i64 length : sizes_or(request, {512, 2048, 8192})) {
      for (bool is_causal : {false, true}) {
        const Shape shape{1, kHeads, length, kHead};
        // Two products; a causal one needs half of each.
        const f64 flops = 4.0 * kHeads * kHead * square(static_cast<f64>(length));
        list.push_back(
            {fmt::format("{} {} x {} x {}{}", dtype.str(), kHeads, length, kHead,
                         is_causal ? " causal" : ""),
             dtype, is_causal ? flops / 2 : flops, 0, 0, [request, dtype, shape, is_causal] {
               return call_of(
                   [is_causal](const Tensor& q, const Tensor& k, const Tensor& v) {
                     return q.scaled_dot_product_attention(k, v, {.is_causal = is_causal});
                   },
                   filled(request, shape, dtype), filled(request, shape, dtype),
                   filled(request, shape, dtype));
             }});
      }
    }
  }
  return list;
}

std::vector<Workload> convolution(const Request& request) {
  struct Layer {
    i64 in, image, out, filter, stride;  // `image` and `filter` are squares
  };
  constexpr Layer kLayers[] = {{3, 224, 64, 7, 2},   {64, 56, 64, 3, 1},   {64, 56, 256, 1, 1},
                               {128, 28, 128, 3, 1}, {256, 14, 256, 3, 1}, {512, 7, 512, 3, 1}};
  std::vector<Workload> list;
  for (DType dtype : request.dtypes) {
    for (i64 images : sizes_or(request, {32})) {
      for (const Layer& layer : kLayers) {
        const Shape image{images, layer.in, layer.image, layer.image};
        const Shape weight{layer.out, layer.in, layer.filter, layer.filter};
        const f64 products = static_cast<f64>(layer.in) * square(static_cast<f64>(layer.filter));
        const f64 results = static_cast<f64>(images * layer.out) *
                            square(static_cast<f64>(layer.image / layer.stride));
        list.push_back(
            {fmt::format("{} {} x {} x {} x {} by {} x {} x {} x {} stride {}", dtype.str(), images,
                         layer.in, layer.image, layer.image, layer.out, layer.in, layer.filter,
                         layer.filter, layer.stride),
             dtype, 2 * products * results, 0, 0, [request, dtype, image, weight, layer] {
               return call_of(
                   [layer](const Tensor& x, const Tensor& w) {
                     return x.conv2d(w, {.stride = layer.stride, .padding = layer.filter / 2});
                   },
                   filled(request, image, dtype), filled(request, weight, dtype));
             }});
      }
    }
  }
  return list;
}

Distribution measure_calls(const std::function<void()>& call, const std::function<void()>& wait,
                           const Sampling& sampling) {
  for (int i = 0; i < 2; ++i) seconds_of(call, wait, 1);  // the second of a jitted one is captured
  const f64 one = seconds_of(call, wait, 1);
  const i64 calls = std::clamp(static_cast<i64>(kSampleSeconds / one), i64{1}, kMostCalls);
  std::vector<f64> samples;
  f64 spent = 0;
  while (samples.size() < sampling.runs && (samples.empty() || spent < sampling.seconds)) {
    const f64 took = seconds_of(call, wait, calls);
    spent += took;
    samples.push_back(took * 1e9 / static_cast<f64>(calls));
  }
  return {std::move(samples), static_cast<usize>(calls)};
}

Distribution measure(core::Device& device, const Workload& workload, const Sampling& sampling) {
  return measure_calls(workload.prepare(), [&] { engine::must(device.synchronize()); }, sampling);
}

}  // namespace doorbell::tools::throughput
