// The kernels that bench/kernels times, each with the least work that it must do.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "bench/kernels/blas.h"
#include "tensor/api/tensor.h"

namespace doorbell::bench {

struct KernelWork {
  f64 flops = 0;            // nominal: two per multiply-add
  f64 bytes = 0;            // read at least once plus written
  bool reads_only = false;  // writes next to nothing
};

struct KernelRun {
  KernelWork work;
  // Builds the expression and realizes it; the caller waits for the device.
  std::function<void()> body;
};

struct KernelWorkload {
  std::string_view name;
  KernelRun (*prepare)(bool smoke);
  Product product = {};  // compared with sgemm
};

std::span<const KernelWorkload> kernel_workloads();
KernelRun product_run(const Product& product);

}  // namespace doorbell::bench
