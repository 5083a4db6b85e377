// Against PyTorch: statistics, products, layers, attention, losses, movement, indexing and sorting,
// with their gradients, in every float dtype; operations that only move elements in every dtype;
// and gradients at edge values.
#include <fmt/format.h>

#include <cmath>

#include "conformance/expected.h"
#include "conformance/inputs.h"
#include "conformance/operations.h"

namespace doorbell::conformance {
namespace {

// Elements of a moved case: values that are distinct in the dtype.
Real fitted(DType dtype, Real value) {
  if (dtype.is_bool()) return std::fmod(value, 2.0L);
  return is_fp8(dtype) ? std::fmod(value, 8.0L) : value;
}

// Floats of the data become the dtype under test; indices and masks keep theirs.
Array typed(const ExpectedCase& one, DType dtype, const Array& values) {
  if (!values.dtype.is_float()) return values;
  Array result{dtype, values.shape, values.values};
  for (Real& value : result.values)
    if (one.moved) value = fitted(dtype, value);
  return result;
}

Tolerance tolerance_for(DType dtype, const Array& want, f64 depth) {
  if (!want.dtype.is_float() || depth == 0) return {};
  Real largest = 1;
  for (Real value : want.values)
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  return {.ulps = 1, .absolute = depth * static_cast<f64>(epsilon_of(dtype) * largest)};
}

// The weights of generate.py.
Array upstream_of(DType dtype, const std::vector<i64>& shape) {
  i64 i = 0;
  return Array::make(dtype, shape, [&](const Place&) { return Real(i++ * 7 % 5 - 2) / 2; });
}

void check_case(Trial& trial, const ExpectedCase& one, DType dtype) {
  std::vector<Tensor> inputs;
  std::string summary;
  for (const Array& values : one.inputs) {
    const Array input = typed(one, dtype, values);
    summary += summary_of(summary.empty() ? "x" : ", and", input);
    inputs.push_back(trial.tensor(input));
  }
  const auto shows = [summary](usize) { return summary; };
  const std::vector<Tensor> outputs = apply_operation(one.operation, one.arguments, inputs);
  if (!one.upstream) {
    trial.require(outputs.size() == one.outputs.size(),
                  fmt::format("{} results, expected {}", outputs.size(), one.outputs.size()));
  }
  for (usize i = 0; i < one.outputs.size(); ++i) {
    const Array want = typed(one, dtype, one.outputs[i]);
    trial.expect(fmt::format("result {}", i), outputs[i], want,
                 tolerance_for(dtype, want, one.depth), shows);
  }
  if (one.gradients.empty()) return;
  std::vector<Tensor> targets;
  for (const ExpectedGradient& gradient : one.gradients) targets.push_back(inputs[gradient.input]);
  const Array upstream =
      one.upstream ? typed(one, dtype, *one.upstream) : upstream_of(dtype, one.outputs[0].shape);
  const std::vector<Tensor> gradients =
      outputs.at(one.differentiated).gradient(targets, trial.tensor(upstream));
  for (usize i = 0; i < gradients.size(); ++i) {
    const Array want = typed(one, dtype, one.gradients[i].values);
    trial.expect(fmt::format("gradient of input {}", one.gradients[i].input), gradients[i], want,
                 tolerance_for(dtype, want, 4 * one.depth), shows);
  }
}

bool has_floats(const ExpectedCase& one) {
  for (const std::vector<Array>* arrays : {&one.inputs, &one.outputs})
    for (const Array& array : *arrays)
      if (array.dtype.is_float()) return true;
  return false;
}

bool covers(const ExpectedCase& one, DType dtype) {
  if (one.moved) return true;
  if (!has_floats(one)) return dtype == dtypes::f32;  // once
  return dtype.is_float() && dtype.bits() >= (one.wide ? 32 : 16);
}

// Operations whose result's size depends on values, which are read at once.
bool reads_values(const ExpectedCase& one) { return one.operation.starts_with("unique"); }

// Consecutive cases of one operation make a batch.
void add_cases(Suite& suite, std::string_view group, const ExpectedCases& all) {
  for (DType dtype : all_dtypes()) {
    Batch* batch = nullptr;
    const ExpectedCase* last = nullptr;
    for (const ExpectedCase& one : *all) {
      if (!covers(one, dtype)) continue;
      if (last == nullptr || last->operation != one.operation) {
        batch = nullptr;
        const std::string name = fmt::format("{}/{}/{}", group, dtype.str(), one.operation);
        for (const std::unique_ptr<Batch>& made : suite.batches())
          if (made->name == name) batch = made.get();
        if (batch == nullptr)
          batch = &suite.add(name, {.dtypes = {dtype}, .runs = reads_values(one)});
      }
      batch->add(one.name, [all, &one, dtype](Trial& trial) { check_case(trial, one, dtype); });
      last = &one;
    }
  }
}

}  // namespace

void add_reference_cases(Suite& suite) {
  add_cases(suite, "reference", expected_cases());
  add_cases(suite, "edge", edge_cases());
}

}  // namespace doorbell::conformance
