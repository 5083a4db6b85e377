// What bench/kernels times, each with the least work that it must do and with the task that others
// run beside it (rivals.h). Inputs are normal random numbers on the device.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

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
  std::string name;
  nlohmann::json task;
  std::function<KernelRun()> prepare;
};

KernelWorkload product_workload(std::string name, const Product& product, DType dtype);

// `smoke`: small ones.
std::vector<KernelWorkload> kernel_workloads(bool smoke);

// Parts of that list.
void add_convolutions(bool smoke, std::vector<KernelWorkload>* list);
void add_models(bool smoke, std::vector<KernelWorkload>* list);

Tensor random_input(const Shape& shape);
f64 bytes_of(std::initializer_list<Tensor> tensors);

}  // namespace doorbell::bench
