// Sizes and strides of movement ops. The rule of restride is PyTorch's (computeStride).
#include "tensor/api/strides.h"

namespace doorbell::detail {

using core::Op;
using core::UOp;

bool numbers_of(const Shape& shape, Numbers* numbers) {
  numbers->clear();
  for (const Size& size : shape) {
    if (!size.is_const()) return false;
    numbers->push_back(size.value());
  }
  return true;
}

bool restride(const Numbers& from, const Numbers& to, Numbers* strides) {
  i64 count = 1;
  for (const i64 size : from) count *= size;
  Numbers result(to.size(), 1);
  if (count == 0 || from.empty()) {
    *strides = std::move(result);
    return true;
  }
  i64 run = 1, filled = 1, base = strides->back(), at = static_cast<i64>(to.size()) - 1;
  for (i64 axis = static_cast<i64>(from.size()) - 1; axis >= 0; --axis) {
    const usize i = static_cast<usize>(axis);
    run *= from[i];
    if (axis > 0 && (from[i - 1] == 1 || (*strides)[i - 1] == run * base)) continue;
    while (at >= 0 && (filled < run || to[static_cast<usize>(at)] == 1)) {
      result[static_cast<usize>(at)] = filled * base;
      filled *= to[static_cast<usize>(at--)];
    }
    if (filled != run) return false;
    if (axis > 0) base = (*strides)[i - 1];
    run = filled = 1;
  }
  if (at != -1) return false;
  *strides = std::move(result);
  return true;
}

bool numbers_of(UOp node, Numbers* numbers) {
  numbers->clear();
  for (usize axis = 0; axis < node.ndim(); ++axis) {
    if (!node.dim(axis).is_const()) return false;
    numbers->push_back(node.dim(axis).value());
  }
  return true;
}

bool take_step(Op op, std::span<const i64> args, const Numbers& from, const Numbers& to,
               Numbers* strides) {
  if (op == Op::Reshape) return restride(from, to, strides);
  const Numbers before = *strides;
  if (op == Op::Permute) {
    for (usize i = 0; i < to.size(); ++i) (*strides)[i] = before[static_cast<usize>(args[i])];
  } else if (op == Op::Expand) {
    const usize added = to.size() - from.size();
    strides->assign(to.size(), 0);
    for (usize i = 0; i < from.size(); ++i)
      if (from[i] == to[added + i]) (*strides)[added + i] = before[i];
  } else if (op == Op::Flip) {
    for (usize i = 0; i < to.size(); ++i)
      if (args[0] >> i & 1) (*strides)[i] = -(*strides)[i];
  }
  return true;
}

}  // namespace doorbell::detail
