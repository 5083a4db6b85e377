// For tests of the scheduler: graphs in few words, and a reference that computes a tensor graph
// node by node, each op by its definition, with plain loops over all elements. It shares no code
// with the scheduler.
#pragma once

#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/schedule/schedule.h"
#include "core/uop/graph.h"

namespace doorbell::core::test {

using Sizes = std::vector<i64>;

UOpRef buffer(const Sizes& shape, DType dtype = dtypes::f32, i64 device = 0);
UOpRef constant(f64 value, DType dtype = dtypes::f32);
UOpRef variable(const char* name, i64 value, i64 max);
UOpRef reshape(const UOpRef& a, const Sizes& shape);
UOpRef permute(const UOpRef& a, const Sizes& order);
UOpRef expand(const UOpRef& a, const Sizes& shape);
UOpRef pad(const UOpRef& a, const std::vector<std::pair<i64, i64>>& around);      // {before, after}
UOpRef shrink(const UOpRef& a, const std::vector<std::pair<i64, i64>>& windows);  // {start, end}
UOpRef flip(const UOpRef& a, i64 axes);
UOpRef unary(Op op, const UOpRef& a);
UOpRef cast(const UOpRef& a, DType dtype);
UOpRef binary(Op op, const UOpRef& a, const UOpRef& b);
UOpRef where(const UOpRef& c, const UOpRef& a, const UOpRef& b);
UOpRef reduce(Op op, const UOpRef& a, i64 axes);  // mask; reduced axes stay with size 1
UOpRef contiguous(const UOpRef& a);
UOpRef copy(const UOpRef& a, i64 device);
UOpRef assign(const UOpRef& target, const UOpRef& value);
inline UOpRef add(const UOpRef& a, const UOpRef& b) { return binary(Op::Add, a, b); }
inline UOpRef mul(const UOpRef& a, const UOpRef& b) { return binary(Op::Mul, a, b); }
inline UOpRef sum(const UOpRef& a, i64 axes) { return reduce(Op::Add, a, axes); }
// [m, k] x [k, n], as the tensor API spells it.
UOpRef matmul(const UOpRef& a, const UOpRef& b);
UOpRef softmax(const UOpRef& a);                      // over the last axis of a matrix
UOpRef arange(i64 count, DType dtype = dtypes::i32);  // as a sum over a triangle of ones
Sizes shape_of(UOp node);

// Values are computed in f64 and rounded to the node's dtype where it is f32 or an int.
using Values = std::vector<f64>;
// What the inputs hold, by Buffer node: small whole numbers that differ from place to place.
Values input_values(UOp buffer);
// `variables` by interned name.
Values reference(UOp root, const std::map<i64, i64>& variables = {});

// Runs the schedule with the interpreter; returns the contents of every output.
std::vector<Values> run(const Schedule& schedule, const GraphKey& key);
// Schedules and runs; for one root.
struct Scheduled {
  Schedule schedule;
  std::vector<Values> outputs;
  usize kernels = 0, copies = 0;
};
Scheduled schedule_and_run(std::span<const UOpRef> roots, const ScheduleOptions& options = {});
inline Scheduled schedule_and_run(std::initializer_list<UOpRef> roots,
                                  const ScheduleOptions& options = {}) {
  return schedule_and_run(std::span(roots.begin(), roots.size()), options);
}
// Only schedules.
usize kernel_count(std::initializer_list<UOpRef> roots, const ScheduleOptions& options = {});

// Expects outputs equal to the reference, up to `tolerance` relative to the largest magnitude.
void expect_equal(const Values& got, const Values& want, f64 tolerance = 1e-5);

}  // namespace doorbell::core::test
