// Masks of no axes in brackets: they pick all or nothing along a new axis, as NumPy has it. For all
// other indices see index.cc and index_assign.cc.
#include <algorithm>

#include "tensor/api/index_view.h"
#include "tensor/api/select.h"

namespace doorbell {

namespace {

bool is_scalar_mask(const Index& index) {
  return detail::is_mask(index) && index.tensor()->ndim() == 0;
}

}  // namespace

std::optional<detail::Widened> detail::with_scalar_masks(const Tensor& x,
                                                         std::span<const Index> indices) {
  if (std::none_of(indices.begin(), indices.end(), is_scalar_mask)) return std::nullopt;
  i64 behind = 0;  // axes of x that the indices behind the present one name
  for (const Index& index : indices) behind += width_of(index);
  Widened wide{.x = Tensor::from_uop(x.uop(), x.needs_grad())};
  i64 axis = 0;
  for (const Index& index : indices) {
    behind -= width_of(index);
    if (index.is_ellipsis()) axis = wide.x.ndim() - behind;
    if (!is_scalar_mask(index)) {
      axis += width_of(index);
      wide.indices.push_back(index);
      continue;
    }
    wide.x = wide.x.unsqueeze(axis);
    wide.axes.push_back(axis++);
    wide.indices.emplace_back(index.tensor()->reshape({1}));
  }
  return wide;
}

Tensor detail::without_axes(const Widened& wide) {
  Tensor x = wide.x;
  for (usize i = wide.axes.size(); i-- > 0;) x = x.squeeze(wide.axes[i]);
  return x;
}

}  // namespace doorbell
