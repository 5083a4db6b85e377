// What PyTorch computed for a case, by name: tests/tensor/torch/values.json, written by
// make_values.py beside it.
#pragma once

#include <string>
#include <vector>

#include "tests/tensor/reference.h"

namespace doorbell::test {

const Array& torch_value(const std::string& name);

// f64 tensors of noise, as the cases are made of; leaves for gradient().
std::vector<Tensor> noise_tensors(
    std::initializer_list<std::pair<std::vector<i64>, u32>> shapes_and_seeds);

// The value `name`.
void expect_torch(const std::string& name, const Tensor& result, double tolerance = 1e-6);
// The values `name` and `name`/gradient0 ...: of the result, and of its sum weighted with noise of
// seed 99 with respect to each leaf.
void expect_torch(const std::string& name, const Tensor& result, std::span<const Tensor> leaves,
                  double tolerance = 1e-6);

}  // namespace doorbell::test
