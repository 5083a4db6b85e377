// What `doorbell bench gemm`, `bandwidth`, `attention` and `convolution` measure: calls of a jitted
// function, with the operations and the bytes that one call needs at least. For the command line
// see bench_throughput.cc.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/device/device.h"
#include "core/dtype/dtype.h"
#include "tools/measure/distribution.h"

namespace doorbell::tools::throughput {

struct Workload {
  std::string what;  // "f16 4096 x 4096 x 4096"
  core::DType dtype;
  f64 flops = 0;    // of a call; 0: not a figure of this benchmark
  f64 bytes = 0;    // that a call reads and writes at least; 0: not a figure of this benchmark
  i64 product = 0;  // n of a product of n x n matrices; 0: another workload
  // Makes the inputs on the device and returns a function that submits one call. Throws.
  std::function<std::function<void()>()> prepare;
};

struct Request {
  core::Device& device;
  std::vector<core::DType> dtypes;
  std::vector<i64> sizes;  // ascending; empty: the benchmark's own
};

// Square products (n, n) x (n, n), one per dtype and size.
std::vector<Workload> gemm(const Request& request);
// Kernels whose time is that of their memory traffic; a size is the bytes of one operand.
std::vector<Workload> bandwidth(const Request& request);
// softmax(q k^T / sqrt(64)) v over 16 heads of 64 features; a size is the length of the sequence.
std::vector<Workload> attention(const Request& request);

// The convolutions of a ResNet with padding of half the filter; a size is the images of a batch.
std::vector<Workload> convolution(const Request& request);

// Nanoseconds of one call: several are submitted in a row and waited for once.
Distribution measure_calls(const std::function<void()>& call, const std::function<void()>& wait,
                           const Sampling& sampling);
Distribution measure(core::Device& device, const Workload& workload, const Sampling& sampling);

}  // namespace doorbell::tools::throughput
