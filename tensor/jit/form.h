// Form: what one tensor must have in common with another to take its place in a jitted function;
// and a tensor's value as a jitted function reads it, stored.
//
// Not for users.
#pragma once

#include <string>

#include "tensor/api/cell.h"
#include "tensor/api/size.h"

namespace doorbell::detail {

// What a tensor must be to take the place of another. What its symbolic sizes are bound to may
// differ.
struct Form {
  DType dtype;
  u16 device = 0;  // index + 1
  Shape shape;     // without bindings
  bool is_symbolic = false;

  static Form of(UOp node);
  bool fits(UOp node) const;
  std::string str() const;  // "f32 of shape (2, n) on CPU"
};

// A stored value as the Buffers on its devices.
inline u32 part_count(UOp stored) {
  return stored.is(Op::Multi) ? static_cast<u32>(stored.nsrc()) : 1;
}
inline UOp part_of(UOp stored, u32 part) {
  return stored.is(Op::Multi) ? stored.src(part) : stored;
}

// Throws where it is on DISK.
void refuse_part_of_file(const Tensor& tensor);
// The node with a tensor's value in memory (engine::materialized_node), computed if need be. Owned
// by the tensor.
UOp stored_value(const Tensor& tensor);

}  // namespace doorbell::detail
