// Operations by name, with their arguments as JSON: the calls of tests/conformance/generate.py in
// PyTorch, made with Doorbell's API.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "tensor/api/tensor.h"

namespace doorbell::conformance {

// Of any operation: `pad_in` and `pad_out` lay {before, after} zeros around the last axis of the
// first input and of each result, `repeat` passes the first input as that many operands. Fails a
// CHECK for an unknown name.
std::vector<Tensor> apply_operation(std::string_view name, const nlohmann::json& arguments,
                                    const std::vector<Tensor>& inputs);

// ---- for the tables

struct Call {
  const nlohmann::json& arguments;
  const std::vector<Tensor>& in;

  bool has(const char* name) const { return arguments.contains(name); }
  i64 integer(const char* name) const { return arguments.at(name).get<i64>(); }
  f64 real(const char* name) const { return arguments.at(name).get<f64>(); }
  f64 real_or(const char* name, f64 otherwise) const { return arguments.value(name, otherwise); }
  bool flag(const char* name) const { return arguments.value(name, false); }
  std::string word(const char* name) const { return arguments.at(name).get<std::string>(); }
  std::vector<i64> integers(const char* name) const {
    return arguments.at(name).get<std::vector<i64>>();
  }
  PerAxis per_axis(const char* name, const PerAxis& otherwise) const {
    if (!has(name)) return otherwise;
    if (arguments.at(name).is_array()) return integers(name);
    return integer(name);
  }
  const Tensor& x() const { return in[0]; }
  ReduceOptions reduce() const { return {.keepdim = flag("keepdim")}; }
};

struct OperationEntry {
  std::string_view name;
  std::vector<Tensor> (*apply)(const Call&);
};

// Functions of one element and of two.
std::span<const OperationEntry> elementwise_operations();

}  // namespace doorbell::conformance
