// Inside the tensor API: an index as what it does to each axis, shared by reading (index.cc) and
// assigning (index_assign.cc).
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "tensor/api/tensor.h"

namespace doorbell::detail {

// How one axis of x is read.
struct AxisView {
  Size start = 0, stop = 0;  // window before flip and stride
  i64 stride = 1;
  bool flipped = false;
  bool dropped = false;  // an int: the axis goes
  Tensor index;          // of integers; defined where elements are picked
};

struct View {
  std::vector<AxisView> axes;  // one per axis of x
  std::vector<i64> result;     // axes of the result: an axis of x, or -1 for None

  bool picks() const {
    return std::any_of(axes.begin(), axes.end(), [](auto& axis) { return axis.index.defined(); });
  }
};

Size length_of(const AxisView& axis);
// Throws Error for what does not fit x. Reads the masks among the indices.
View parse_index(const Tensor& x, std::span<const Index> indices);

// How many axes of x the index stands for.
i64 width_of(const Index& index);
bool is_mask(const Index& index);
// Whether it picks elements: a list or a tensor.
bool picks(const Index& index);
// A mask stands for as many axes as it has, which must be those of x from `axis` on.
void check_mask(const Tensor& mask, i64 axis, const Tensor& x);

// What the view gives where nothing is picked.
Tensor read_view(const Tensor& x, const View& view);

// Axes of x that are picked from, joined to one, and the places on it. Where they stand apart they
// come first.
struct Picks {
  Tensor source;           // x, permuted, with the picked axes joined
  i64 axis = 0;            // the joined one
  Tensor position;         // from the front; -1 where an index is out of range
  Shape apart;             // the shape of the source with its axes not joined
  std::vector<i64> order;  // what x was permuted by
};

Picks join_picks(const Tensor& x, const View& view);
// x (pre, n, post) at positions (shape): (pre, shape, post). 0 where a position is not in 0..n-1.
Tensor take(const Tensor& x, i64 axis, const Tensor& position);

}  // namespace doorbell::detail
