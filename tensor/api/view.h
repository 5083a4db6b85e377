// Inside the tensor API: views. What movement ops give shares the elements of the tensor it was
// made of, as in PyTorch: assigning to either changes both. A view keeps the way to its elements,
// not the elements: who is assigned to makes a new value of the whole and advances a version, and
// a view that finds its version old makes its value anew. So nodes never name two values, and what
// was computed from a view keeps what it saw. docs/decisions/0034-views.md says why.
//
// Thread safety: reading tensors that share elements is safe from any threads; assigning to one of
// them is a use of all.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include <absl/container/inlined_vector.h>

#include "core/uop/graph.h"
#include "tensor/api/tensor.h"

namespace doorbell::detail {

struct Cell;

// A movement op apart from the node that it was applied to.
struct ViewStep {
  core::Op op;
  DType dtype;  // of what it gives
  absl::InlinedVector<i64, 8> args;
  absl::InlinedVector<core::UOpRef, 2> sizes;  // the symbolic ones among the args
  Shape before;                                // of what it is applied to
};
using ViewSteps = std::vector<ViewStep>;

// What a tensor, here the owner, and its views have in common. Views may outlive the owner. Then
// there is no value of the whole any more, and what is assigned to one of several views is kept
// here for the others.
struct Alias {
  explicit Alias(Cell& owner);

  // Advanced when elements have changed for others.
  std::atomic<u64> version{0};
  const u64 born;     // the observer while which the owner was made, or 0
  const DType dtype;  // of the owner

  std::mutex mutex;  // guards what follows
  Cell* owner;       // not counted; null when it is gone
  // Without an owner: elements that were assigned to, where `held` is true, or all of them where
  // that is null. Both null: none.
  core::UOpRef value, held;
  bool tracked = false;  // gradients flow through `value`

  // A handle to the owner; not defined where it is gone.
  Tensor living_owner();
  // The owner goes, or names other elements from now on.
  void retire(Cell& owner);
};

// `result`, whose value is one movement op (or Detach, Contiguous, Bitcast) above that of `of`, as
// a view of it. `row_major`: its elements lie in row-major order without gaps, if those of `of` do.
Tensor as_view(Tensor result, const Tensor& of, bool row_major);
// Whether reshaping gives a view, as PyTorch's strides say, rather than a copy.
bool reshapes_in_place(const Tensor& x, const Shape& to);
// The same value as a tensor that shares no elements with another.
Tensor unshared(const Tensor& x);

// The value of a view whose version is old, made anew.
void refresh_view(Cell& view);
// A view whose elements nobody else has any more is one no longer.
void release_if_alone(Cell& view);
// A view's own value is about to be replaced by the same in another form.
void keep_steps(Cell& view);
// The elements that the view shows become `value`, of its shape, dtype and device. Throws, before
// anything changes, where the view shows an element several times.
void write_view(Cell& view, const Tensor& value);
// Whether both show the same elements at the same places.
bool same_elements(Cell& a, Cell& b);

// Throws where nobody would see an assignment: no handles but `handles`, and no others with its
// elements but `views`.
void refuse_lost(const Tensor& x, u32 handles, i64 views);
// Whether it was computed from others: nobody means to assign to that.
bool is_computed(const Tensor& x);

// Movement that shares elements, for what brackets and diagonals compose (movement.cc). The methods
// of these names copy, or may.
Tensor flip_view(const Tensor& x, const std::vector<i64>& axes);
// Zeros after each axis, which belong to nobody and must be cut off again.
Tensor pad_view(const Tensor& x, const std::vector<i64>& after);
Tensor reshape_view(const Tensor& x, const Shape& to);

}  // namespace doorbell::detail
