// Collects what cases expect, and lists the parts of the suite.
#include "conformance/suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace doorbell::conformance {
namespace {

using core::Op;
using core::UOp;

// GPUs approximate these, and compilers use those instructions, alone or as the first guess of a
// sequence that rounds correctly. [PTX ISA 9.0, "ex2", "lg2", "sin", "rsqrt", "rcp"]
constexpr Op kApproximated[] = {Op::Exp2,  Op::Log2, Op::Sin, Op::Sqrt,
                                Op::Recip, Op::FDiv, Op::Pow};

std::string approximated_in(UOp root) {
  std::set<Op> found;
  std::set<const void*> seen;
  std::vector<UOp> open{root};
  while (!open.empty()) {
    const UOp node = open.back();
    open.pop_back();
    if (!seen.insert(node.node()).second) continue;
    if (std::ranges::find(kApproximated, node.op()) != std::end(kApproximated))
      found.insert(node.op());
    for (usize i = 0; i < node.nsrc(); ++i) open.push_back(node.src(i));
  }
  std::string names;
  for (const Op op : found) names += (names.empty() ? "" : ",") + std::string(name_of(op));
  return names;
}

// Of dtypes that are computed as f32, what is subnormal in it may be zero.
void flush_subnormals(const Array& got, Array* want) {
  if (want->dtype != core::dtypes::f32 && want->dtype != core::dtypes::bf16) return;
  for (usize i = 0; i < want->values.size(); ++i)
    if (got.values[i] == 0 && std::fabs(want->values[i]) < 0x1p-126L)
      want->values[i] = std::copysign(0.0L, want->values[i]);
}

}  // namespace

Tensor Trial::tensor(const Array& values) const {
  return Tensor::from_bytes(values.bytes(), values.dtype, Shape(values.shape), on(values.dtype));
}

const Input& Trial::input(const std::string& key, const std::function<Array()>& make) {
  const auto found = inputs_->find(key);
  if (found != inputs_->end()) return found->second;
  Array values = make();
  Tensor tensor = this->tensor(values);
  return inputs_->emplace(key, Input{std::move(values), std::move(tensor)}).first->second;
}

void Trial::expect(std::string what, const Tensor& got, Array want, const Tolerance& tolerance,
                   std::function<std::string(usize)> inputs) {
  // Realising replaces the graph by a buffer.
  expectations_.push_back({std::move(what), got, std::move(want), tolerance, std::move(inputs),
                           keeps_ ? approximated_in(*got.uop()) : std::string()});
}

void Trial::check(std::string what, const Tensor& got, const Array& want,
                  const Tolerance& tolerance) {
  settle({std::move(what),
          got,
          want,
          tolerance,
          {},
          keeps_ ? approximated_in(*got.uop()) : std::string()});
}

void Trial::settle(const Expectation& expectation) {
  const Tensor& tensor = expectation.got;
  tensor.realize();
  Array got{tensor.dtype(), tensor.shape().values(), expectation.want.values};
  // Shapes and dtypes are checked even on devices that run nothing.
  if (runs()) {
    std::vector<std::byte> bytes = tensor.to_bytes();
    got = Array::from_bytes(got.dtype, got.shape, bytes);
    if (keeps_)
      held_.push_back(
          {expectation.what, got.dtype, got.shape, std::move(bytes), expectation.approximate});
  }
  Array want = expectation.want;
  if (target_.caps.flushes_subnormals) flush_subnormals(got, &want);
  const std::optional<Difference> difference = compare(got, want, expectation.tolerance);
  if (!difference) return;
  std::string text = expectation.what + ": " + difference->text;
  if (expectation.inputs) text += "\n    inputs: " + expectation.inputs(difference->element);
  failures_.push_back(std::move(text));
}

void Trial::require(bool holds, const std::string& otherwise) {
  if (!holds) failures_.push_back(otherwise);
}

void Trial::require_throws(const std::function<void()>& function, std::string_view part) {
  try {
    function();
  } catch (const Error& error) {
    require(error.message.find(part) != std::string::npos,
            fmt::format("threw \"{}\", expected \"{}\" in it", error.message, part));
    return;
  }
  failures_.push_back(fmt::format("nothing was thrown, expected an error with \"{}\"", part));
}

Batch& Suite::add(std::string name, Needs needs) {
  batches_.push_back(std::make_unique<Batch>(Batch{std::move(name), std::move(needs), {}, false}));
  return *batches_.back();
}

void Suite::add_alone(const std::string& name, const Needs& needs,
                      std::function<void(Trial&)> run) {
  const usize slash = name.rfind('/');
  Batch& batch = add(name.substr(0, slash), needs);
  batch.always = true;
  batch.add(name.substr(slash + 1), std::move(run));
}

Suite Suite::make() {
  Suite suite;
  add_elementwise_cases(suite);
  add_binary_cases(suite);
  add_cast_cases(suite);
  add_reduce_cases(suite);
  add_reference_cases(suite);
  add_graph_cases(suite);
  add_kernel_cases(suite);
  add_scratch_cases(suite);
  add_memory_cases(suite);
  add_jit_cases(suite);
  add_random_cases(suite);
  add_device_cases(suite);
  add_queue_cases(suite);
  add_distributed_cases(suite);
  return suite;
}

std::string summary_of(const std::string& name, const Array& array) {
  constexpr usize kShown = 6;
  std::string text = fmt::format("{} = {} {} [", name, array.dtype.str(), text_of(array.shape));
  for (usize i = 0; i < std::min(kShown, array.values.size()); ++i)
    text += (i == 0 ? "" : ", ") + text_of(array.values[i]);
  return text + (array.values.size() > kShown ? ", ...]" : "]");
}

}  // namespace doorbell::conformance
