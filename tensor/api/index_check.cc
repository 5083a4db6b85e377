// The mode that checks the values of indices (setting CHECK_INDEX). For unchecked ones see index.cc
// and scatter.cc.
#include <utility>

#include "core/uop/placement.h"
#include "core/util/config.h"
#include "tensor/api/bound_size.h"
#include "tensor/api/index_numbers.h"
#include "tensor/api/observer.h"
#include "tensor/engine/kernel_compiler.h"
#include "tensor/engine/realize.h"

namespace doorbell {

namespace {

// Devices that compute nothing have no values to look at.
bool has_values(const Tensor& index) {
  const u16 at = index.uop()->device();
  if (core::is_placement(at)) {
    const u16 first = core::placement_of(at).devices.front();
    return engine::device_at(first).runs();
  }
  return engine::device_of(*index.uop()).runs();
}

template <class T>
void refuse_outside(const Tensor& least, const Tensor& most, i64 lowest, i64 size, i64 axis) {
  for (const T value : {least.item<T>(), most.item<T>()}) {
    if (std::cmp_greater_equal(value, lowest) && std::cmp_less(value, size)) continue;
    throw fail(ErrorKind::Invalid, "index {} is out of range for axis {} of size {}", value, axis,
               size);
  }
}

}  // namespace

void detail::check_index(const Tensor& index, i64 lowest, i64 size, i64 axis,
                         const Tensor& counted) {
  engine::ensure_runtime();  // which reads the setting
  if (!core::config().check_index) [[likely]]
    return;
  if (observer != nullptr || !index.dtype().is_int()) return;
  if (bound_numel(index.shape()) == 0 || !has_values(index)) return;
  NoGradScope no_grad;
  const Tensor relevant = counted.defined() ? doorbell::where(counted, index, 0) : index;
  const Tensor least = relevant.min(), most = relevant.max();
  Tensor::realize({least, most});
  if (index.dtype() == dtypes::u64)
    refuse_outside<u64>(least, most, lowest, size, axis);
  else
    refuse_outside<i64>(least, most, lowest, size, axis);
}

}  // namespace doorbell
