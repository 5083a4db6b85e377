// The limits are those of NVIDIA's maps. [CUDA Driver API, "cuTensorMapEncodeTiled"]
#include "codegen/opt/tensor_map_fit.h"

#include <algorithm>

#include "codegen/tensor_core.h"

namespace doorbell::codegen::detail {

namespace {

constexpr i64 kUnit = 16;  // bytes: addresses and strides are multiples
constexpr i64 kMostSize = i64{1} << 32, kMostStride = i64{1} << 40, kMostBox = 256;

// Makes one box of all runs, where rows end with the tensor's.
void add_runs(const BoxedOperand& operand, TensorMapFit* fit) {
  std::vector<core::TensorMap::Dimension>& dimensions = fit->map.dimensions;
  const i64 row = dimensions[0].box, size = dimensions[0].size;
  const bool fits = operand.runs > 1 && operand.runs <= kMostBox && operand.rows <= kMostBox &&
                    size % row == 0 && dimensions.size() < core::TensorMap::kMostDimensions;
  if (!fits) return;
  dimensions[0].size = row;
  dimensions.push_back({size / row, row * operand.element_bytes, operand.runs});
  fit->axes.push_back(operand.along);
  fit->has_runs = true;
}

}  // namespace

std::optional<TensorMapFit> fit_tensor_map(const KernelInfo& info, const BoxedOperand& operand) {
  const Affine& address = operand.address;
  const i64 bytes = operand.element_bytes, offset = address.constant * bytes;
  if (!address.others.empty() || offset < 0 || offset % kUnit != 0) return std::nullopt;
  TensorMapFit fit{{operand.slot, offset, bytes, {}}, {operand.along, operand.across}};
  for (const Affine::Term& t : address.ranges) {
    const i64 axis = t.value.range_id();
    if (axis != operand.along && axis != operand.across) fit.axes.push_back(axis);
  }
  if (fit.axes.size() > core::TensorMap::kMostDimensions) return std::nullopt;
  for (const i64 axis : fit.axes) {
    const i64 size = info.size(axis), stride = address.coefficient(axis).value_or(0) * bytes;
    const bool is_along = axis == operand.along;
    const bool fits = is_along ? stride == bytes : stride > 0 && stride % kUnit == 0;
    if (size <= 0 || size > kMostSize || !fits || stride >= kMostStride) return std::nullopt;
    const i64 box = is_along                 ? kLocalRowBytes / bytes
                    : axis == operand.across ? std::min(operand.rows, kMostBox)
                                             : 1;
    fit.map.dimensions.push_back({size, stride, box});
  }
  add_runs(operand, &fit);
  return fit;
}

}  // namespace doorbell::codegen::detail
