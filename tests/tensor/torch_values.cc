// Reads the file of values once.
#include "tests/tensor/torch_values.h"

#include <cstdlib>

#include <nlohmann/json.hpp>

#include "tests/support/golden.h"

namespace doorbell::test {

const Array& torch_value(const std::string& name) {
  static const std::map<std::string, Array> all = [] {
    std::map<std::string, Array> values;
    const auto file = nlohmann::json::parse(testing::read_source("tests/tensor/torch/values.json"));
    for (const auto& [key, entry] : file.items()) {
      Array array{.shape = entry["shape"].get<std::vector<i64>>()};
      for (const auto& value : entry["values"]) {  // "nan" and "inf" are strings
        array.values.push_back(
            value.is_string() ? std::strtod(value.get_ref<const std::string&>().c_str(), nullptr)
                              : value.get<double>());
      }
      values.emplace(key, std::move(array));
    }
    return values;
  }();
  const auto found = all.find(name);
  if (found == all.end()) {
    ADD_FAILURE() << "make_values.py has no case " << name;
    static const Array none{.shape = {0}};
    return none;
  }
  return found->second;
}

std::vector<Tensor> noise_tensors(
    std::initializer_list<std::pair<std::vector<i64>, u32>> shapes_and_seeds) {
  std::vector<Tensor> tensors;
  for (const auto& [shape, seed] : shapes_and_seeds)
    tensors.push_back(Array::noise(shape, seed).tensor(dtypes::f64));
  return tensors;
}

void expect_torch(const std::string& name, const Tensor& result, double tolerance) {
  SCOPED_TRACE(name);
  expect_close(result, torch_value(name), tolerance, tolerance);
}

void expect_torch(const std::string& name, const Tensor& result, std::span<const Tensor> leaves,
                  double tolerance) {
  const Tensor weights = Array::noise(result.shape().values(), 99).tensor(dtypes::f64);
  std::vector<Tensor> all = (result * weights).sum().gradient(leaves);
  all.push_back(result);
  Tensor::realize(all);
  expect_torch(name, result, tolerance);
  for (usize i = 0; i < leaves.size(); ++i)
    expect_torch(name + "/gradient" + std::to_string(i), all[i], tolerance);
}

}  // namespace doorbell::test
