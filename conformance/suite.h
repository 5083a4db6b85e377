// The suite: cases by name, in batches that are realised together so that one kernel covers many.
// For the cases see cases_*.cc, for running and reporting run.h.
//
//   suite.add("elementwise/f32/odd", {.dtypes = {dtypes::f32}}).add("exp", [](Trial& trial) {
//     const Tensor x = trial.tensor(values);
//     trial.expect("value", x.exp(), map(dtypes::f32, values, expl), {.ulps = 4});
//   });
//
// A case's name is its batch's name and its own: elementwise/f32/odd/exp.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "conformance/compare.h"
#include "conformance/target.h"

namespace doorbell::conformance {

// What must hold once the case's batch is realised.
struct Expectation {
  std::string what;
  Tensor got;
  Array want;
  Tolerance tolerance;
  std::function<std::string(usize element)> inputs;  // describes an element's inputs; optional
  std::string approximate{};                         // see Held
};

// What a tensor of a case held, for records (record.h).
struct Held {
  std::string what;  // as in the expectation
  DType dtype;
  std::vector<i64> shape;
  std::vector<std::byte> bytes;
  // Operations in its graph for which hardware has instructions that approximate: "Exp2,Sin".
  std::string approximate{};
};

struct Input {
  Array values;
  Tensor tensor;
};

// A running case: what it may use, and its failures.
class Trial {
 public:
  // Inputs by key, shared by the cases of a batch.
  using Inputs = std::map<std::string, Input>;

  // `keeps`: what its tensors held is kept.
  Trial(const Target& target, u64 seed, Inputs* inputs, bool keeps = false)
      : target_(target), seed_(seed), inputs_(inputs), keeps_(keeps) {}

  const Target& target() const { return target_; }
  core::Device& device() const { return *target_.device; }
  bool runs() const { return target_.device->runs(); }
  u64 seed() const { return seed_; }  // of the batch
  TensorOptions on(DType dtype) const { return {.dtype = dtype, .device = device().name()}; }

  Tensor tensor(const Array& values) const;
  // All cases of the batch that pass this key share the tensor.
  const Input& input(const std::string& key, const std::function<Array()>& make);

  // Compared when the batch has been realised.
  void expect(std::string what, const Tensor& got, Array want, const Tolerance& tolerance = {},
              std::function<std::string(usize)> inputs = {});
  // Realises, reads and compares now.
  void check(std::string what, const Tensor& got, const Array& want,
             const Tolerance& tolerance = {});
  void require(bool holds, const std::string& otherwise);
  // The function must throw an Error with this text in its message.
  void require_throws(const std::function<void()>& function, std::string_view part);

  const std::vector<Expectation>& expectations() const { return expectations_; }
  const std::vector<std::string>& failures() const { return failures_; }
  const std::vector<Held>& held() const { return held_; }
  void settle(const Expectation& expectation);

 private:
  const Target& target_;
  u64 seed_;
  Inputs* inputs_;
  bool keeps_;
  std::vector<Expectation> expectations_;
  std::vector<std::string> failures_;
  std::vector<Held> held_;
};

struct Case {
  std::string name;  // whole
  Needs needs;
  std::function<void(Trial&)> run;
  std::string exception{};  // why it is skipped (exceptions.h); empty: it is not
};

struct Batch {
  std::string name;
  Needs needs;  // of all its cases
  std::vector<Case> cases;
  bool always = false;  // in every sample

  Batch& add(const std::string& name, std::function<void(Trial&)> run) {
    return add(name, needs, std::move(run));
  }
  Batch& add(const std::string& name, Needs own, std::function<void(Trial&)> run) {
    cases.push_back({this->name + "/" + name, std::move(own), std::move(run)});
    return *this;
  }
};

class Suite {
 public:
  // All cases.
  static Suite make();
  Batch& add(std::string name, Needs needs = {});
  // A batch of one case, in every sample: for cases that affect others, or that are the only one of
  // their kind.
  void add_alone(const std::string& name, const Needs& needs, std::function<void(Trial&)> run);
  const std::vector<std::unique_ptr<Batch>>& batches() const { return batches_; }

 private:
  std::vector<std::unique_ptr<Batch>> batches_;
};

// The first values of an array, as one line of text.
std::string summary_of(const std::string& name, const Array& array);

// The parts, each in its own file.
void add_elementwise_cases(Suite& suite);
void add_binary_cases(Suite& suite);
void add_cast_cases(Suite& suite);
void add_reduce_cases(Suite& suite);
void add_reference_cases(Suite& suite);
void add_graph_cases(Suite& suite);
void add_kernel_cases(Suite& suite);
void add_memory_cases(Suite& suite);
void add_jit_cases(Suite& suite);
void add_scratch_cases(Suite& suite);
void add_random_cases(Suite& suite);
void add_device_cases(Suite& suite);
void add_queue_cases(Suite& suite);
void add_distributed_cases(Suite& suite);

}  // namespace doorbell::conformance
