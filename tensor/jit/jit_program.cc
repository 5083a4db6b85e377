// A captured function at work: checks, replays, gives the results to their owners.
#include "tensor/jit/jit_program.h"

#include <absl/cleanup/cleanup.h>

#include "core/uop/placement.h"
#include "tensor/api/cell.h"
#include "tensor/api/random.h"
#include "tensor/api/view.h"
#include "tensor/engine/in_flight.h"
#include "tensor/engine/realize.h"

namespace doorbell::detail {

struct JitProgram::Values {
  explicit Values(const JitProgram& program)
      : names(program.variables_), value(names.size()), known(names.size()) {}

  void set(i64 name, i64 given) {
    for (usize i = 0; i < names.size(); ++i) {
      if (names[i] != name) continue;
      if (known[i] && value[i] != given) {
        throw fail(ErrorKind::Invalid,
                   "variable {} is bound to {} and to {} in one call of a jitted function",
                   core::interned_name(name), value[i], given);
      }
      value[i] = given;
      known[i] = true;
      return;
    }
  }
  // By the shape of a tensor that the call uses.
  void take(const Form& form, UOp node) {
    if (!form.is_symbolic) [[likely]]
      return;
    Bindings bindings;
    for (usize axis = 0; axis < node.ndim(); ++axis) collect_bindings(node.dim(axis), &bindings);
    for (const core::BoundVariable& binding : bindings) set(binding.name, binding.value);
  }

  const std::vector<i64>& names;
  absl::InlinedVector<i64, 4> value;
  absl::InlinedVector<bool, 4> known;
};

Cell& JitProgram::cell_of(const Holder& holder, Arguments arguments) const {
  const Tensor& tensor =
      holder.argument < 0 ? holder.tensor : *arguments[static_cast<usize>(holder.argument)];
  return *Access::cell_untraced(tensor);
}

namespace {

// Whether assigning to one changes the other.
bool shares(const Cell* a, const Cell* b) {
  return a == b || (a != nullptr && b != nullptr && a->alias != nullptr && a->alias == b->alias);
}

}  // namespace

bool JitProgram::is_written_state(const Cell& cell) const {
  if (!cell.is_view) return written_state_.contains(&cell);
  const Tensor owner = cell.alias->living_owner();
  return owner.defined() && written_state_.contains(&Access::known(owner));
}

void JitProgram::refuse_aliases(Arguments arguments) const {
  for (usize i = 0; i < arguments.size(); ++i) {
    const Cell* cell = Access::cell_untraced(*arguments[i]);
    if (cell == nullptr) continue;
    if (is_written_state(*cell)) {
      throw fail(ErrorKind::Invalid,
                 "argument {} of a jitted function is also a tensor that the function refers to "
                 "and changes; pass a clone()",
                 i);
    }
    if (!holders_[i].is_written) continue;
    for (usize other = 0; other < arguments.size(); ++other) {
      if (other != i && shares(Access::cell_untraced(*arguments[other]), cell)) {
        throw fail(ErrorKind::Invalid,
                   "arguments {} and {} of a jitted function are one tensor, which the function "
                   "changes; pass a clone()",
                   i, other);
      }
    }
    for (usize at = arguments.size(); at < holders_.size(); ++at) {
      if (!shares(Access::cell_untraced(holders_[at].tensor), cell)) continue;
      throw fail(ErrorKind::Invalid,
                 "argument {} of a jitted function, which changes it, is also a tensor that the "
                 "function refers to; pass a clone()",
                 i);
    }
  }
}

// Their forms are those of the capture: JitState has looked.
void JitProgram::check_arguments(Arguments arguments, Values* values) const {
  for (usize i = 0; i < arguments.size(); ++i) {
    const Holder& holder = holders_[i];
    if (!holder.is_defined) continue;
    const UOp value = stored_value(*arguments[i]);
    values->take(holder.form, value);
    if (Access::cell_untraced(*arguments[i])->is_leaf != holder.is_leaf) {
      throw fail(ErrorKind::Invalid,
                 "argument {} of a jitted function is {}marked requires_grad, captured when it was "
                 "{}",
                 i, holder.is_leaf ? "not " : "", holder.is_leaf ? "" : "not");
    }
  }
}

void JitProgram::check_sizes(std::span<const Size> sizes, Values* values) const {
  for (usize i = 0; i < sizes.size(); ++i) {
    const Size &now = sizes[i], &then = sizes_[i];
    bool fits = then.is_const() == now.is_const();
    if (fits && !now.is_const()) {
      const UOpRef bind = now.expression();
      fits = bind->is(Op::Bind) && bind->src(0) == then.expression()->src(0);
      if (fits) values->set(bind->src(0).arg(0), bind->src(1).const_int());
    } else if (fits) {
      fits = now.value() == then.value();
    }
    if (!fits) {
      throw fail(ErrorKind::Invalid,
                 "size argument {} of a jitted function is {}, captured with {}", i, now.str(),
                 then.str());
    }
  }
}

void JitProgram::check_state(Arguments arguments, Values* values) const {
  if (TrainingScope::active() != training_) {
    throw fail(ErrorKind::Invalid, "a jitted function is called {} a training scope, captured {}",
               training_ ? "outside" : "within", training_ ? "within one" : "outside");
  }
  for (const StateView& state : views_) {
    const Cell& view = *Access::cell_untraced(state.view);
    const bool is_same = view.is_view && view.alias == state.alias;
    if (is_same && state.alias->living_owner().defined()) continue;
    throw fail(ErrorKind::Invalid,
               "a view that a jitted function refers to no longer shares the elements of the "
               "tensor that it was captured with");
  }
  for (const Holder& holder : holders_) {
    if (!holder.is_defined) continue;
    if (holder.argument < 0) {
      const UOp value = stored_value(holder.tensor);
      if (!holder.form.fits(value)) {
        throw fail(ErrorKind::Invalid,
                   "a tensor that a jitted function refers to is now {}, captured with {}",
                   Form::of(value).str(), holder.form.str());
      }
      values->take(holder.form, value);
    }
    if (holder.gradient_defined < 0) continue;
    const Cell& cell = cell_of(holder, arguments);
    const bool has_gradient = cell.grad.defined() || cell.gradient_lost;
    if (has_gradient != (holder.gradient_defined == 1)) {
      throw fail(ErrorKind::Invalid,
                 "a tensor of shape {} has {} gradient when a jitted function reads it, captured "
                 "with{}; call zero_grad() in the function, or before each call",
                 holder.form.shape.str(), holder.gradient_defined == 1 ? "no" : "a",
                 holder.gradient_defined == 1 ? " one" : "out");
    }
  }
}

// Of the tensor that owns it.
UOp JitProgram::value_of(usize at, Arguments arguments) const {
  const Slot& slot = slots_[at];
  if (!replay_->reads(at)) return {};
  const Cell& cell = cell_of(holders_[slot.holder], arguments);
  if (slot.kind == Slot::Kind::Value) {
    const UOp stored = TensorGraph::realized(*cell.value);
    return stored ? part_of(stored, slot.part) : *cell.value;
  }
  if (!cell.grad.defined())
    throw fail(ErrorKind::Invalid, "a gradient that a jitted function reads is gone");
  const UOp value = stored_value(cell.grad);
  if (!slot.form.fits(value)) {
    throw fail(ErrorKind::Invalid,
               "a gradient that a jitted function reads is now {}, captured with {}",
               Form::of(value).str(), slot.form.str());
  }
  return part_of(value, slot.part);
}

namespace {

// Writes to the owner of a view, and stores it: otherwise each call would add to a graph that is
// never computed.
void write_through(Cell& view, const UOpRef& value) {
  NoGradScope no_grad;
  const std::shared_ptr<Alias> alias = view.alias;
  Access::handle(view).assign(Tensor::from_uop(value));
  if (const Tensor owner = alias->living_owner(); owner.defined()) owner.realize();
}

}  // namespace

void JitProgram::write(const Write& write, Cell& cell, std::span<const UOpRef> results) {
  if (!write.is_gradient && cell.is_view)
    write_through(cell, results[static_cast<usize>(write.result)]);
  else if (!write.is_gradient)
    cell.set_value(results[static_cast<usize>(write.result)], false);
  else if (write.result < 0)
    cell.set_gradient({}, write.result == Write::kLost);
  else
    cell.set_gradient(Tensor::from_uop(results[static_cast<usize>(write.result)]));
}

namespace {

// A change of a call, to be undone if its work is stopped, unless the value was changed again
// since.
struct Change {
  Tensor owner;
  bool is_gradient;
  UOpRef value_before, value_after;
  Tensor gradient_before, gradient_after;
  bool gradient_lost_before;
};

void undo(std::span<const Change> changes) {
  for (const Change& change : changes) {
    Cell& cell = *Access::cell_untraced(change.owner);
    if (!change.is_gradient) {
      if (*cell.value == *change.value_after) cell.set_value(change.value_before, false);
      continue;
    }
    const Cell* gradient = cell.grad.defined() ? Access::cell_untraced(cell.grad) : nullptr;
    const Cell* after =
        change.gradient_after.defined() ? Access::cell_untraced(change.gradient_after) : nullptr;
    if (gradient == after) cell.set_gradient(change.gradient_before, change.gradient_lost_before);
  }
}

}  // namespace

void JitProgram::write_all(Arguments arguments, std::span<const UOpRef> results,
                           const hcq::Fence& until) {
  const bool may_stop = !writes_.empty() && !until.done();
  std::vector<Change> changes;
  for (const Write& change : writes_) {
    Cell& cell = cell_of(holders_[change.holder], arguments);
    if (!may_stop) {
      write(change, cell, results);
      continue;
    }
    Change& noted = changes.emplace_back();
    noted = {Access::handle(cell), change.is_gradient, cell.value, {}, cell.grad, {},
             cell.gradient_lost};
    write(change, cell, results);
    noted.value_after = cell.value;
    noted.gradient_after = cell.grad;
  }
  if (may_stop)
    engine::in_flight().keep(until, {.undo = [changes = std::move(changes)] { undo(changes); }});
}

void JitProgram::check_all(Arguments arguments, std::span<const Size> sizes, Values* values) const {
  check_sizes(sizes, values);
  check_arguments(arguments, values);
  check_state(arguments, values);
  check_requirements(*values);
}

void JitProgram::check_requirements(const Values& values) const {
  if (requirements_.empty()) return;
  Bindings bindings;
  for (usize i = 0; i < variables_.size(); ++i)
    bindings.push_back({variables_[i], values.value[i]});
  for (const Requirement& requirement : requirements_)
    require_now(rebound(requirement.low, bindings), rebound(requirement.high, bindings),
                requirement.what);
}

void JitProgram::check(Arguments arguments, std::span<const Size> sizes) const {
  Values values(*this);
  check_all(arguments, sizes, &values);
}

// A Buffer as the value of a symbolic shape, of this call's size.
UOpRef JitProgram::result_as_bound(usize result, UOp buffer, const Values& values) const {
  Bindings bindings;
  for (usize i = 0; i < variables_.size(); ++i)
    bindings.push_back({variables_[i], values.value[i]});
  const Shape shape = with_bindings(result_shapes_[result], bindings);
  absl::InlinedVector<core::Dim, 4> dims;
  for (const Size& size : shape)
    dims.push_back(size.is_const() ? core::Dim(size.value()) : core::Dim(*size.expression()));
  return engine::view_of_buffer(buffer, dims);
}

std::string JitProgram::difference(const JitProgram& other) const {
  bool same = holders_.size() == other.holders_.size() && slots_.size() == other.slots_.size();
  for (usize i = 0; same && i < holders_.size(); ++i) {
    const Cell* cell = Access::cell_untraced(holders_[i].tensor);
    same = cell == Access::cell_untraced(other.holders_[i].tensor);
  }
  for (usize i = 0; same && i < slots_.size(); ++i) {
    const Slot &a = slots_[i], &b = other.slots_[i];
    same = a.kind == b.kind && a.holder == b.holder && a.part == b.part && a.device == b.device &&
           a.count == b.count;
  }
  const std::string work = replay_->difference(*other.replay_);
  if (!work.empty()) return work;
  if (!same) return "it uses other tensors";
  if (writes_ != other.writes_) return "it changes other tensors";
  const bool same_results = outputs_ == other.outputs_ && result_shapes_ == other.result_shapes_;
  return same_results ? "" : "it gives other results";
}

void JitProgram::replay(Arguments arguments, std::span<const Size> sizes, JitOutputs* outputs) {
  if (running_)
    throw fail(ErrorKind::Busy, "a jitted function is called by a signal's handler while it runs");
  running_ = true;
  const absl::Cleanup end = [this] { running_ = false; };
  Values values(*this);
  check_all(arguments, sizes, &values);
  if (writes_argument_ || !written_state_.empty()) refuse_aliases(arguments);
  replay_->reserve();
  absl::InlinedVector<UOp, 16> slots(slots_.size());
  for (usize i = 0; i < slots_.size(); ++i)
    if (slots_[i].kind != Slot::Kind::Draw) slots[i] = value_of(i, arguments);
  // Draws come last, so that nothing is drawn for a call that is refused.
  absl::InlinedVector<UOpRef, 4> draws;
  for (usize i = 0; i < slots_.size(); ++i) {
    if (slots_[i].kind != Slot::Kind::Draw) continue;
    draws.push_back(next_draw(*slots_[i].device, slots_[i].count));
    slots[i] = *draws.back();
  }
  engine::Replay::Results results;
  const hcq::Fence until = replay_->run({slots.data(), slots.size()},
                                        {values.value.data(), values.value.size()}, &results);
  if (has_parts_) {
    const engine::Replay::Results parts = std::move(results);
    results.clear();
    for (const core::ShardedRoot& result : results_)
      results.push_back(engine::holder_of(result, {parts.data(), parts.size()}));
  }
  for (usize i = 0; i < results.size(); ++i)
    if (!result_shapes_[i].empty()) results[i] = result_as_bound(i, *results[i], values);
  write_all(arguments, {results.data(), results.size()}, until);
  for (const i32 output : outputs_)
    outputs->push_back(output < 0 ? Tensor()
                                  : Tensor::from_uop(results[static_cast<usize>(output)]));
}

}  // namespace doorbell::detail
