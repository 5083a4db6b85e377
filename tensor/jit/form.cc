// What a tensor is to a jitted function, and its value in memory.
#include "tensor/jit/form.h"

#include "core/uop/placement.h"
#include "tensor/api/axes.h"
#include "tensor/api/bound_size.h"
#include "tensor/api/cell.h"
#include "tensor/api/disk.h"
#include "tensor/engine/realize.h"

namespace doorbell::detail {

Form Form::of(UOp node) {
  Form form{node.dtype(), node.device(), {}};
  for (usize axis = 0; axis < node.ndim(); ++axis) {
    const core::Dim size = node.dim(axis);
    form.is_symbolic |= !size.is_const();
    form.shape.push_back(size.is_const() ? Size(size) : without_bindings(Size(size)));
  }
  return form;
}

bool Form::fits(UOp node) const {
  if (node.dtype() != dtype || node.device() != device || node.ndim() != shape.size()) return false;
  for (usize axis = 0; axis < shape.size(); ++axis)
    if (!same_unbound(node.dim(axis), shape[axis])) return false;
  return true;
}

std::string Form::str() const {
  std::string text = std::string(core::long_name_of(dtype.scalar)) + " of shape " + shape.str();
  if (device == 0) return text;
  text += " on " + engine::device_name(device);
  text += engine::layout_name(device);
  return text;
}

void refuse_part_of_file(const Tensor& tensor) {
  if (!on_disk(tensor)) return;
  throw fail(ErrorKind::Unsupported,
             "a part of a file as an argument or result of a jitted function; copy it to a device "
             "with to()");
}

UOp stored_value(const Tensor& tensor) {
  Cell& cell = *Access::cell_untraced(tensor);
  if (TensorGraph::is_stored(*cell.value)) [[likely]]
    return *cell.value;
  if (is_always_empty(tensor)) return *cell.value;
  refuse_part_of_file(tensor);
  if (!TensorGraph::realized(*cell.value)) tensor.realize();
  const UOp buffer = TensorGraph::realized(*cell.value);
  // A symbolic shape is known to the value only.
  return tensor.shape().is_const() ? buffer : *cell.value;
}

}  // namespace doorbell::detail
