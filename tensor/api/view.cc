// What a view is made of, and how it is made anew and written through. For which methods give
// views see movement.cc and index.cc, for what may be assigned storage.cc.
#include "tensor/api/view.h"

#include <algorithm>
#include <utility>

#include "base/util/check.h"
#include "core/uop/placement.h"
#include "tensor/api/cell.h"
#include "tensor/api/disk.h"
#include "tensor/api/gradient.h"
#include "tensor/api/node.h"
#include "tensor/api/sharding.h"
#include "tensor/api/storage.h"
#include "tensor/api/strides.h"
#include "tensor/api/windows.h"

namespace doorbell::detail {

namespace {

Shape shape_of(UOp node) {
  Shape shape;
  for (usize axis = 0; axis < node.ndim(); ++axis) shape.push_back(Size(node.dim(axis)));
  return shape;
}

ViewStep step_of(UOp node) {
  ViewStep step{.op = node.op(), .dtype = node.dtype(), .before = shape_of(node.src(0))};
  step.args.assign(node.args().begin(), node.args().end());
  for (usize i = 1; i < node.nsrc(); ++i) step.sizes.emplace_back(node.src(i));
  return step;
}

UOpRef applied(const ViewStep& step, const UOpRef& x) {
  absl::InlinedVector<UOp, 4> srcs{*x};
  for (const UOpRef& size : step.sizes) srcs.push_back(*size);
  // A mask of elements goes the same way; its bits mean nothing else.
  if (step.op == Op::Bitcast && x->dtype().is_bool()) return x;
  const DType dtype = step.op == Op::Bitcast ? step.dtype : x->dtype();
  return TensorGraph::make(step.op, dtype, std::span<const UOp>(srcs), step.args);
}

UOpRef applied(const ViewSteps& steps, UOpRef x) {
  for (const ViewStep& step : steps) x = applied(step, x);
  return x;
}

Size size_arg(const ViewStep& step, usize i) {
  const i64 arg = step.args[i];
  return core::is_dynamic_dim(arg) ? Size(step.sizes[core::dynamic_dim_index(arg)]) : Size(arg);
}

// All steps of a view, from the owner on.
ViewSteps steps_of(const Cell& view) {
  ViewSteps own;
  UOp node = *view.value;
  for (u32 i = 0; i < view.moves; ++i, node = node.src(0)) own.push_back(step_of(node));
  ViewSteps steps;
  if (view.steps != nullptr) steps = *view.steps;
  std::move(own.rbegin(), own.rend(), std::back_inserter(steps));
  return steps;
}

// Of what movement methods ask often, so without a copy of the steps.
bool strides_of(const Cell& view, Numbers* strides) {
  absl::InlinedVector<UOp, 8> nodes(view.moves);
  UOp below = *view.value;
  for (u32 i = view.moves; i-- > 0; below = below.src(0)) nodes[i] = below;
  const ViewSteps* kept = view.steps.get();
  Numbers from, to;
  if (!(kept != nullptr ? numbers_of(kept->front().before, &from) : numbers_of(below, &from)))
    return false;
  strides->assign(from.size(), 1);
  for (usize i = from.size(); i-- > 1;) (*strides)[i - 1] = (*strides)[i] * from[i];
  for (usize i = 0; kept != nullptr && i < kept->size(); ++i) {
    const ViewStep& step = (*kept)[i];
    const bool is_last = i + 1 == kept->size();
    if (!(is_last ? numbers_of(below, &to) : numbers_of((*kept)[i + 1].before, &to))) return false;
    if (!take_step(step.op, step.args, from, to, strides)) return false;
    std::swap(from, to);
  }
  for (const UOp node : nodes) {
    if (!numbers_of(node, &to)) return false;
    if (!take_step(node.op(), node.args(), from, to, strides)) return false;
    std::swap(from, to);
  }
  return true;
}

// Whether they differ in axes of size 1 only.
bool same_but_ones(UOp node, const Shape& shape) {
  usize i = 0;
  for (usize axis = 0; axis < node.ndim(); ++axis) {
    const core::Dim size = node.dim(axis);
    if (size == core::Dim(1)) continue;
    while (i < shape.size() && shape[i].is(1)) ++i;
    if (i == shape.size() || shape[i++] != Size(size)) return false;
  }
  while (i < shape.size() && shape[i].is(1)) ++i;
  return i == shape.size();
}

}  // namespace

// ---- ownership

Alias::Alias(Cell& owner) : born(owner.born), dtype(owner.value->dtype()), owner(&owner) {}

Tensor Alias::living_owner() {
  const std::lock_guard lock(mutex);
  if (owner == nullptr || !owner->try_ref()) return {};
  return Access::adopted(*owner);
}

void Alias::retire(Cell& cell) {
  const std::lock_guard lock(mutex);
  if (owner != &cell) return;
  owner = nullptr;
  if (version.load(std::memory_order_relaxed) == 0) return;  // nobody's value is old
  value = UOpRef(cell.node(false));
  tracked = cell.tracked;
}

Tensor as_view(Tensor result, const Tensor& of, bool row_major) {
  Cell& view = Access::cell(result);
  Cell& from = Access::cell(of);
  if (&view == &from) return result;
  // A stored value stands for the steps that lead to it.
  const UOp below = view.value->src(0);
  if (from.is_view && below != *from.value) keep_steps(from);
  if (from.alias == nullptr) from.alias = std::make_shared<Alias>(from);
  view.alias = from.alias;
  view.steps = from.steps;
  view.moves = from.moves + 1;
  view.seen = from.is_view ? from.seen : from.alias->version.load(std::memory_order_acquire);
  view.is_view = true;
  view.is_row_major = row_major && from.is_row_major;
  view.is_expanded = from.is_expanded || view.value->is(Op::Expand);
  view.is_detached = from.is_detached || view.value->is(Op::Detach) || NoGradScope::active();
  view.is_of_leaf_view = from.is_of_leaf_view || (from.is_view && from.is_leaf);
  return result;
}

bool reshapes_in_place(const Tensor& x, const Shape& to) {
  const Cell& cell = Access::cell(x);
  if (!cell.is_view || cell.is_row_major) return true;
  if (same_but_ones(*cell.value, to)) return true;
  Numbers from, wanted, strides;
  return numbers_of(*cell.value, &from) && numbers_of(to, &wanted) && strides_of(cell, &strides) &&
         restride(from, wanted, &strides);
}

Tensor unshared(const Tensor& x) {
  return Tensor::from_uop(x.uop(), x.needs_grad() && !NoGradScope::active());
}

void keep_steps(Cell& view) {
  if (view.moves == 0) return;
  view.steps = std::make_shared<const ViewSteps>(steps_of(view));
  view.moves = 0;
}

void release_if_alone(Cell& view) {
  if (!view.is_view || view.is_expanded || view.alias.use_count() > 1) return;
  {
    const std::lock_guard lock(view.alias->mutex);
    if (view.alias->owner != nullptr) return;
  }
  view.unlink();
}

bool same_elements(Cell& a, Cell& b) {
  if (&a == &b) return true;
  if (a.alias == nullptr || a.alias != b.alias || a.is_view != b.is_view) return false;
  const ViewSteps left = steps_of(a), right = steps_of(b);
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](const ViewStep& x, const ViewStep& y) {
                      return x.op == y.op && x.dtype == y.dtype && x.args == y.args &&
                             x.sizes == y.sizes && x.before == y.before;
                    });
}

void refuse_lost(const Tensor& x, u32 handles, i64 views) {
  if (on_disk(x)) return;  // the file has it
  const Cell& cell = Access::known(x);
  if (cell.refs.load(std::memory_order_relaxed) > handles) return;
  if (cell.alias != nullptr && cell.alias.use_count() > 1 + views) return;
  throw fail(ErrorKind::Invalid,
             "assignment to a tensor of shape {} in between would be lost: no other tensor shares "
             "its elements",
             x.shape().str());
}

bool is_computed(const Tensor& x) {
  UOp node = *Access::cell(x).value;
  if (node.is(Op::Expand)) node = node.src(0);
  const bool is_own = node.is(Op::Assign) || node.is(Op::Contiguous);  // clone(), rand()
  return !node.is(Op::Const) && !is_own && !TensorGraph::is_stored(node);
}

// ---- reading

void refresh_view(Cell& view) {
  keep_steps(view);
  Alias& alias = *view.alias;
  const Tensor owner = alias.living_owner();
  if (!owner.defined()) {
    const std::lock_guard lock(alias.mutex);
    UOpRef value = applied(*view.steps, alias.value);
    if (alias.held) {
      const UOpRef held = applied(*view.steps, alias.held);
      value = TensorGraph::make(Op::Where, view.value->dtype(), {*held, *value, *view.value});
    }
    const bool tracked = !view.is_detached && (alias.tracked || (alias.held && view.tracked));
    view.set_value(std::move(value), tracked);
    view.seen = alias.version.load(std::memory_order_acquire);
    return;
  }
  Cell& whole = Access::cell(owner);
  const u64 version = alias.version.load(std::memory_order_acquire);
  // A view of a leaf that is itself a view keeps the way to that leaf, for its gradient.
  if (!view.is_of_leaf_view || whole.is_leaf) {
    const bool tracked = !view.is_detached && (whole.tracked || whole.is_leaf);
    view.set_value(applied(*view.steps, UOpRef(whole.node(tracked))), tracked);
  }
  view.seen = version;
}

// ---- writing

namespace {

// Steps that do the same, where what is cut out of an Expand is cut out before it: a row of
// x.expand({3, 2}) shows each element once.
ViewSteps windows_first(ViewSteps steps) {
  for (usize i = 0; i + 1 < steps.size(); ++i) {
    ViewStep &expand = steps[i], &cut = steps[i + 1];
    if (expand.op != Op::Expand || cut.op != Op::Shrink) continue;
    if (!expand.sizes.empty() || !cut.sizes.empty()) continue;
    const usize added = cut.before.size() - expand.before.size();
    ViewStep window{.op = Op::Shrink, .dtype = cut.dtype, .before = expand.before};
    ViewStep rest{.op = Op::Expand, .dtype = cut.dtype};
    for (usize axis = 0; axis < expand.before.size(); ++axis) {
      const bool kept = expand.before[axis] == cut.before[added + axis];
      const i64 start = kept ? cut.args[2 * (added + axis)] : 0;
      const i64 length = kept ? cut.args[2 * (added + axis) + 1] : 1;
      window.args.insert(window.args.end(), {start, length});
      rest.before.push_back(length);
    }
    for (usize axis = 0; axis < cut.before.size(); ++axis)
      rest.args.push_back(cut.args[2 * axis + 1]);
    expand = std::move(window);
    cut = std::move(rest);
  }
  return steps;
}

// x, shaped as what the step gives, at the places that it comes from; nothing elsewhere.
Tensor undone(const ViewStep& step, const Tensor& x) {
  switch (step.op) {
    case Op::Reshape: return x.reshape(step.before);
    case Op::Detach:
    case Op::Contiguous: return x;
    case Op::Bitcast: return x;  // by the dtype of the whole, at the end
    case Op::Permute: {
      std::vector<i64> back(step.args.size());
      for (usize i = 0; i < back.size(); ++i)
        back[static_cast<usize>(step.args[i])] = static_cast<i64>(i);
      return x.permute(back);
    }
    case Op::Flip: {
      std::vector<i64> axes;
      for (i64 axis = 0; axis < x.ndim(); ++axis)
        if (step.args[0] >> axis & 1) axes.push_back(axis);
      return x.flip(axes);
    }
    case Op::Shrink: {
      Shape starts;
      for (usize i = 0; i < step.before.size(); ++i) starts.push_back(size_arg(step, 2 * i));
      return pad_into(x, starts, step.before);
    }
    case Op::Pad: {
      std::vector<std::pair<Size, Size>> inside;
      for (usize i = 0; i < step.before.size(); ++i) {
        const Size start = size_arg(step, 2 * i);
        inside.emplace_back(start, start + step.before[i]);
      }
      return x.shrink(inside);
    }
    case Op::Expand:
      if (same_but_ones(*x.uop(), step.before)) return x.reshape(step.before);
      throw fail(ErrorKind::Invalid,
                 "assignment to an expanded tensor, which shows elements of shape {} several times "
                 "in shape {}; clone() it",
                 step.before.str(), x.shape().str());
    default: UNREACHABLE("a view through op {}", static_cast<int>(step.op));
  }
}

// Values of a view where they belong in the whole.
struct Spread {
  Tensor placed, held;  // `held`: where they are; not defined: everywhere
};

Spread spread(const ViewSteps& steps, const Tensor& values, DType whole) {
  Spread at{values, {}};
  for (const ViewStep& step : steps)
    if (step.op == Op::Shrink) at.held = constant(true, dtypes::bool_).expand(values.shape());
  for (usize i = steps.size(); i-- > 0;) {
    at.placed = undone(steps[i], at.placed);
    if (at.held.defined()) at.held = undone(steps[i], at.held);
  }
  at.placed = at.placed.bitcast(whole);
  return at;
}

// Writes that gradients do not see: those of what was there before pass.
class PassToOld final : public GradientRule {
 public:
  Tensor derivative(const Tensor& gradient, const std::vector<Tensor>&, usize) const override {
    return gradient;
  }
};

void check_gradients(const Cell& view, const Cell& whole, const Tensor& value) {
  if (NoGradScope::active()) return;
  if (view.is_detached) {
    if (!value.needs_grad()) return;
    throw fail(ErrorKind::Invalid,
               "a value that gradients flow through is assigned through a detached view, where "
               "they would be lost; detach() the value");
  }
  if (!whole.is_leaf && !view.is_of_leaf_view) return;
  const Shape shape = shape_of(*whole.value);
  refuse_losing_gradient(shape, shape);
}

// What the owner is with the values in place.
void write_owner(Cell& view, const Tensor& owner, const Spread& at, const Tensor& value) {
  Cell& whole = Access::cell(owner);
  check_gradients(view, whole, value);
  const bool unseen = view.is_detached || NoGradScope::active();
  const Tensor old = unseen ? Tensor::from_uop(UOpRef(whole.node(false))) : owner;
  Tensor now = at.held.defined() ? select(at.held, at.placed, old) : at.placed;
  const u16 place = old.uop()->device();
  if (core::is_placement(place)) now = moved_to(now, place);
  bool tracked = now.needs_grad() && !unseen;
  if (unseen && whole.tracked) {
    now = with_gradient(now, {Tensor::from_uop(whole.value)}, std::make_unique<PassToOld>());
    tracked = true;
  }
  whole.set_value(now.uop(), tracked);
}

// Nobody has the whole: the other views find here what was assigned.
void write_shared(Alias& alias, const Spread& at) {
  if (observer != nullptr && !observer->made(alias.born)) {
    throw fail(ErrorKind::Unsupported,
               "a jitted function assigns to a view of a tensor that is gone while other views of "
               "it exist; keep the tensor, or clone() the view");
  }
  const std::lock_guard lock(alias.mutex);
  Tensor placed = at.placed, held = at.held;
  if (held.defined() && alias.value) {
    placed = select(held, placed, Tensor::from_uop(alias.value, alias.tracked));
    if (alias.held) held = binary(Op::Or, held, Tensor::from_uop(alias.held));
  }
  const bool all = !held.defined() || (alias.value && !alias.held);
  alias.held = all ? UOpRef() : held.uop();
  alias.value = placed.uop();
  alias.tracked = placed.needs_grad();
  alias.version.fetch_add(1, std::memory_order_acq_rel);
}

}  // namespace

void write_view(Cell& view, const Tensor& value) {
  keep_steps(view);
  const Tensor owner = view.alias->living_owner();
  const DType dtype = owner.defined() ? owner.dtype() : view.alias->dtype;
  const Spread at = spread(windows_first(*view.steps), value, dtype);
  if (owner.defined())
    write_owner(view, owner, at, value);
  else
    write_shared(*view.alias, at);
  view.set_value(value.uop(), value.needs_grad() && !NoGradScope::active());
  view.seen = view.alias->version.load(std::memory_order_acquire);
}

}  // namespace doorbell::detail
