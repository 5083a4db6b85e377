// The derivative of every op of the tensor graph: one table. For walking the graph see gradient.cc.
#include <numbers>

#include "core/schedule/exchange.h"
#include "core/uop/placement.h"
#include "tensor/api/cell.h"
#include "tensor/api/gradient.h"
#include "tensor/api/node.h"
#include "tensor/api/sharding.h"
#include "tensor/api/windows.h"

namespace doorbell::detail {

namespace {

using Step = const DerivativeStep&;

Tensor zero_beside(const Tensor& x) { return constant(0, x.dtype()); }

// Equals share evenly; what neither exceeds, NaN, gets all.
Tensor of_max(Step step, usize source) {
  const Tensor mine = step.src(source), other = step.src(1 - source);
  const Tensor shared = select(binary(Op::CmpEq, mine, other), step.gradient * 0.5, step.gradient);
  return select(binary(Op::CmpLt, mine, other), zero_beside(step.gradient), shared);
}

Tensor of_pow(Step step, usize source) {
  const Tensor base = step.src(0), exponent = step.src(1), zero = zero_beside(base);
  if (source == 0) {
    const Tensor slope = exponent * binary(Op::Pow, base, exponent - 1);
    return select(exponent == 0, zero, step.gradient * slope);
  }
  const Tensor slope = step.value() * base.log2() * std::numbers::ln2;
  return step.gradient * select((base == 0) & (exponent >= 0), zero, slope);
}

Tensor of_where(Step step, usize source) {
  const Tensor condition = step.src(0), zero = zero_beside(step.gradient);
  return source == 1 ? select(condition, step.gradient, zero)
                     : select(condition, zero, step.gradient);
}

// Equal maxima share evenly.
Tensor of_max_reduction(Step step) {
  const Tensor x = from_memory(step.src(0));
  const Tensor most = reduce_axes(Op::Max, x, step.node.arg(1));
  const Tensor chosen = (x == most).cast(step.gradient.dtype());
  const Tensor count = reduce_axes(Op::Add, chosen, step.node.arg(1));
  return chosen / count * step.gradient;
}

// The product of the others: the whole divided by this one, but where a zero is among them.
Tensor of_product(Step step) {
  const i64 mask = step.node.arg(1);
  const Tensor x = step.src(0), one = constant(1, x.dtype()), zero = zero_beside(x);
  const Tensor is_zero = x == 0;
  const Tensor safe = select(is_zero, one, x);
  const Tensor zeros = reduce_axes(Op::Add, is_zero.cast(dtypes::i32), mask);
  const Tensor others = select(zeros == 1, reduce_axes(Op::Mul, safe, mask), zero);
  return step.gradient * select(is_zero, others, step.value() / safe);
}

Tensor of_reduce(Step step, usize) {
  switch (step.node.reduce_op()) {
    case Op::Add: return step.gradient.expand(step.src(0).shape());
    case Op::Max: return of_max_reduction(step);
    case Op::Mul: return of_product(step);
    default: return {};
  }
}

// Of a Pad or Shrink: where its inner value begins on each axis.
Shape starts_of(UOp node) {
  Shape starts;
  for (usize i = 0; i < node.ndim(); ++i) {
    const i64 start = node.arg(2 * i);
    starts.push_back(core::is_dynamic_dim(start)
                         ? Size(core::Dim(node.src(1 + core::dynamic_dim_index(start))))
                         : Size(start));
  }
  return starts;
}

Tensor of_pad(Step step, usize) {
  const Shape inner = step.src(0).shape(), starts = starts_of(step.node);
  std::vector<std::pair<Size, Size>> windows;
  for (usize i = 0; i < inner.size(); ++i) windows.emplace_back(starts[i], starts[i] + inner[i]);
  return step.gradient.shrink(windows);
}

Tensor of_shrink(Step step, usize) {
  return pad_into(step.gradient, starts_of(step.node), step.src(0).shape());
}

Tensor of_permute(Step step, usize) {
  std::vector<i64> inverse(step.node.narg());
  for (usize i = 0; i < inverse.size(); ++i) {
    inverse[static_cast<usize>(step.node.arg(i))] = static_cast<i64>(i);
  }
  return step.gradient.permute(inverse);
}

Tensor of_flip(Step step, usize) {
  return make(Op::Flip, step.gradient.dtype(), {&step.gradient}, {step.node.arg(0)});
}

// Back to where the source is.
Tensor of_copy(Step step, usize) { return moved_to(step.gradient, step.node.src(0).device()); }

// Of the parts of a whole, those of its gradient, and the other way round.
Tensor of_exchange(Step step, usize source) {
  if (core::is_exchange(step.node)) {
    const u16 from = step.node.src(0).device();
    return core::placement_of(from).is_split() ? united(step.gradient, from)
                                               : of_copy(step, source);
  }
  if (!core::is_united(step.node)) return of_copy(step, source);
  const Tensor there = moved_to(step.gradient, step.node.device());
  return moved_to(own_part(there), step.node.src(0).device());
}

Tensor of_custom(Step step, usize source) {
  std::vector<Tensor> inputs;
  for (usize i = 1; i < step.node.nsrc(); ++i) inputs.push_back(step.src(i));
  const auto* rule = static_cast<const GradientRule*>(step.node.payload());
  return rule->derivative(step.gradient, inputs, source - 1);
}

struct Entry {
  Op op;
  Derivative derivative;
};

// clang-format off
constexpr Entry kDerivatives[] = {
    {Op::Cast,   [](Step s, usize) { return s.gradient.cast(s.node.src(0).dtype()); }},
    {Op::Neg,    [](Step s, usize) { return s.gradient.neg(); }},
    {Op::Exp2,   [](Step s, usize) { return s.gradient * s.value() * std::numbers::ln2; }},
    {Op::Log2,   [](Step s, usize) { return s.gradient / (s.src(0) * std::numbers::ln2); }},
    {Op::Sin,    [](Step s, usize) { return s.gradient * s.src(0).cos(); }},
    {Op::Sqrt,   [](Step s, usize) { return s.gradient / (s.value() * 2); }},
    {Op::Recip,  [](Step s, usize) { return s.gradient.neg() * s.value() * s.value(); }},
    {Op::Add,    [](Step s, usize) { return s.gradient; }},
    {Op::Sub,    [](Step s, usize i) { return i == 0 ? s.gradient : s.gradient.neg(); }},
    {Op::Mul,    [](Step s, usize i) { return s.gradient * s.src(1 - i); }},
    {Op::FDiv,   [](Step s, usize i) {
       const Tensor slope = s.gradient / s.src(1);
       return i == 0 ? slope : slope.neg() * s.value(); }},
    {Op::MulAcc, [](Step s, usize i) { return i == 2 ? s.gradient : s.gradient * s.src(1 - i); }},
    {Op::Max,    of_max},
    {Op::Pow,    of_pow},
    {Op::Where,  of_where},
    {Op::Reduce, of_reduce},
    {Op::Reshape, [](Step s, usize) { return s.gradient.reshape(s.src(0).shape()); }},
    {Op::Expand, [](Step s, usize) { return s.gradient; }},  // summed back by the walk
    {Op::Pad,    of_pad},
    {Op::Shrink, of_shrink},
    {Op::Permute, of_permute},
    {Op::Flip,   of_flip},
    {Op::Contiguous, [](Step s, usize) { return s.gradient; }},
    {Op::CustomGradient, of_custom},
    {Op::Copy,   of_exchange},
    {Op::Shard,  of_exchange},
    {Op::Assign, [](Step s, usize i) { return i == 1 ? s.gradient : Tensor(); }},
};
// clang-format on

}  // namespace

Derivative derivative_of(Op op) {
  for (const Entry& entry : kDerivatives) {
    if (entry.op == op) return entry.derivative;
  }
  return nullptr;
}

}  // namespace doorbell::detail
