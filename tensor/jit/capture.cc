// What a capture sees, computes and gives back.
#include "tensor/jit/capture.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "core/uop/placement.h"
#include "tensor/api/axes.h"
#include "tensor/api/cell.h"
#include "tensor/api/disk.h"
#include "tensor/api/node.h"
#include "tensor/api/view.h"
#include "tensor/engine/realize.h"

namespace doorbell::detail {

namespace {

u64 next_number() {
  static constinit std::atomic<u64> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

// Within its life nothing is captured: for what the library itself does in between.
struct Pause {
  Observer* const previous = std::exchange(observer, nullptr);
  engine::Recorder::Scope scope{nullptr};
  ~Pause() { observer = previous; }
};

Tensor made_outside(UOpRef value) {
  Pause pause;
  return Tensor::from_uop(std::move(value));
}

absl::InlinedVector<core::Dim, 4> dims_of(UOp node) {
  absl::InlinedVector<core::Dim, 4> dims;
  for (usize axis = 0; axis < node.ndim(); ++axis) dims.push_back(node.dim(axis));
  return dims;
}

UOpRef name_buffer(UOp buffer, DType dtype) {
  absl::InlinedVector<i64, 4> largest;
  for (const core::Dim size : dims_of(buffer)) largest.push_back(size.value());
  return engine::make_buffer_node(core::Ref<core::Buffer>(&engine::buffer_of(buffer)), dtype,
                                  largest);
}

// The same memory under a name of its own. Without elements there is none.
UOpRef proxy_for(UOp stored) {
  const UOp holder = TensorGraph::realized(stored);
  if (!holder) return UOpRef(stored);
  if (holder.is(Op::Multi)) {
    std::vector<UOpRef> owned;
    std::vector<UOp> parts;
    for (UOp part : holder.srcs()) {
      owned.push_back(name_buffer(part, stored.dtype()));
      parts.push_back(*owned.back());
    }
    return TensorGraph::make(Op::Multi, stored.dtype(), parts, holder.args());
  }
  UOpRef named = name_buffer(holder, stored.dtype());
  if (Form::of(stored).is_symbolic) return engine::view_of_buffer(*named, dims_of(stored));
  return named;
}

}  // namespace

Capture::Capture(Arguments arguments, std::span<const Size> sizes)
    : Observer(next_number()), program_(std::make_unique<JitProgram>()) {
  for (const Tensor* argument : arguments) arguments_.push_back(*argument);
  program_->sizes_.assign(sizes.begin(), sizes.end());
  program_->argument_count_ = arguments.size();
  program_->training_ = TrainingScope::active();
  std::vector<UOpRef> stored(arguments.size());
  for (usize i = 0; i < arguments.size(); ++i)
    if (arguments_[i].defined()) stored[i] = UOpRef(stored_value(arguments_[i]));
  scope_ = std::make_unique<engine::Recorder::Scope>(&recorder_);
  observer = this;
  for (usize i = 0; i < arguments.size(); ++i) {
    JitProgram::Holder holder;
    holder.argument = static_cast<i32>(i);
    if (!stored[i]) {
      holder.is_defined = false;
      held_.push_back({.cell = nullptr});
      program_->holders_.push_back(std::move(holder));
      stand_ins_.emplace_back();
      continue;
    }
    UOpRef proxy = proxy_for(*stored[i]);
    Tensor stand_in = Tensor::from_uop(proxy);
    Cell* cell = Access::cell_untraced(stand_in);
    if (Access::cell_untraced(arguments_[i])->is_leaf) stand_in.requires_grad();
    stand_ins_.push_back(stand_in);
    Held held{.outside = arguments_[i],
              .cell = cell,
              .stand_in = std::move(stand_in),
              .before = std::move(stored[i]),
              .proxy = std::move(proxy)};
    hold(std::move(held), std::move(holder));
  }
}

Capture::~Capture() {
  if (observer != this) return;
  for (Held& held : held_) {
    if (held.cell == nullptr || held.stand_in.defined()) continue;
    if (held.cell->value == held.proxy) held.cell->set_value(held.before, false);
    if (held.gradient_in.defined() &&
        Access::cell_untraced(held.cell->grad) == Access::cell_untraced(held.gradient_in))
      held.cell->grad = held.gradient;
  }
  observer = nullptr;
}

// One for each part of a value on several devices.
void Capture::add_slots(JitProgram::Slot slot, const UOpRef& proxy) {
  const UOp holder = TensorGraph::realized(*proxy), held = holder ? holder : *proxy;
  for (const u32 count = part_count(held); slot.part < count; ++slot.part) {
    program_->slots_.push_back(slot);
    proxies_.emplace_back(part_of(held, slot.part));
  }
}

void Capture::hold(Held held, JitProgram::Holder holder) {
  const u32 number = static_cast<u32>(held_.size());
  Cell& outside = *Access::cell_untraced(held.outside);
  holder.form = Form::of(*held.proxy);
  holder.is_leaf = outside.is_leaf;
  add_slots({.kind = JitProgram::Slot::Kind::Value, .holder = number}, held.proxy);
  held.gradient = outside.grad;
  if (held.stand_in.defined()) held.cell->set_gradient(outside.grad, outside.gradient_lost);
  holder_of_.emplace(held.cell, number);
  held_.push_back(std::move(held));
  program_->holders_.push_back(std::move(holder));
}

// A view is read as part of the tensor that it was made of, where that is known. False where it
// stands for itself.
bool Capture::touch_owner(Cell& view) {
  if (!view.is_view) return false;
  if (views_.contains(&view)) return true;
  const Tensor owner = view.alias->living_owner();
  if (!owner.defined()) return false;
  Cell& whole = Access::known(owner);
  if (view.is_leaf && holder_of_.contains(&whole)) {
    throw fail(ErrorKind::Unsupported,
               "a jitted function uses a tensor and a view of it that is marked requires_grad; "
               "clone() the view");
  }
  if (view.is_leaf || whole.tracked) return false;
  views_.insert(&view);
  program_->views_.push_back({Access::handle(view), view.alias});
  use(whole);
  return true;
}

void Capture::touch_outside(Cell& cell) {
  if (holder_of_.contains(&cell) || touch_owner(cell)) return;
  Held held{.outside = Access::handle(cell), .cell = &cell};
  {
    Pause pause;
    if (cell.tracked) {
      throw fail(ErrorKind::Invalid,
                 "a tensor of shape {} that a jitted function refers to was computed from marked "
                 "tensors outside, and gradients do not flow there; detach it",
                 held.outside.shape().str());
    }
    held.before = UOpRef(stored_value(held.outside));
    held.proxy = proxy_for(*held.before);
  }
  JitProgram::Holder holder;
  holder.tensor = held.outside;
  const UOpRef proxy = held.proxy;
  hold(std::move(held), std::move(holder));
  cell.set_value(proxy, false);
}

void Capture::draw(core::Device& device, i64 count, const UOpRef& node) {
  add_slots({.kind = JitProgram::Slot::Kind::Draw, .device = &device, .count = count}, node);
}

// Only when the function looks at it: most functions begin with zero_grad().
void Capture::hold_gradient(u32 number) {
  Held& held = held_[number];
  UOpRef stored;
  {
    Pause pause;
    stored = UOpRef(stored_value(held.gradient));
  }
  held.gradient_proxy = proxy_for(*stored);
  held.gradient_in = Tensor::from_uop(held.gradient_proxy);
  held.cell->grad = held.gradient_in;
  add_slots({.kind = JitProgram::Slot::Kind::Gradient,
             .holder = number,
             .form = Form::of(*held.gradient_proxy)},
            held.gradient_proxy);
}

void Capture::require(const Size& low, const Size& high, const std::string& what) {
  JitProgram::Requirement requirement{low, high, what};
  std::vector<JitProgram::Requirement>& all = program_->requirements_;
  if (std::find(all.begin(), all.end(), requirement) == all.end())
    all.push_back(std::move(requirement));
}

void Capture::read_gradient(u32 number) {
  Held& held = held_[number];
  if (held.gradient_written) {
    held.gradient_used = true;
    return;
  }
  const bool is_defined = held.cell->grad.defined();
  program_->holders_[number].gradient_defined = is_defined;
  if (is_defined && !held.gradient_in.defined()) hold_gradient(number);
}

void Capture::use_gradient(Cell& cell, GradientAccess access) {
  const auto at = holder_of_.find(&cell);
  if (at == holder_of_.end()) return;
  if (access == GradientAccess::Read) return read_gradient(at->second);
  held_[at->second].gradient_written = true;
  held_[at->second].gradient_used = false;
}

// The number of the tensor's value among what has to be computed.
i32 Capture::want(const Tensor& tensor) {
  refuse_part_of_file(tensor);
  const Cell& cell = Access::cell(tensor);
  const Form form = Form::of(*cell.value);
  if (form.is_symbolic && is_always_empty(tensor)) {
    throw fail(ErrorKind::Unsupported,
               "a jitted function gives a tensor of shape {}, which has no elements and a size "
               "that changes from call to call",
               form.shape.str());
  }
  program_->result_shapes_.push_back(form.is_symbolic ? form.shape : Shape());
  wanted_.push_back(cell.value);
  return static_cast<i32>(wanted_.size()) - 1;
}

// A gradient that the function used itself, in an optimiser's step, is not kept: storing it would
// cost as much again. Where it adds to what was there before, the next call needs it.
void Capture::want_gradient(u32 number) {
  const Held& held = held_[number];
  const Tensor gradient = held.cell->grad;
  const Cell* cell = Access::cell_untraced(gradient);
  if (held.gradient_in.defined() && cell == Access::cell_untraced(held.gradient_in)) {
    if (cell->value == held.gradient_proxy) return;
  } else if (!held.gradient_written) {
    return;
  }
  const bool adds = program_->holders_[number].gradient_defined == 1;
  i32 result = JitProgram::Write::kNone;
  if (gradient.defined())
    result = held.gradient_used && !adds ? JitProgram::Write::kLost : want(gradient);
  program_->writes_.push_back({number, true, result});
}

// Wanting may touch more tensors, so by number.
void Capture::want_changes() {
  for (u32 i = 0; i < held_.size(); ++i) {
    Cell* cell = held_[i].cell;
    if (cell == nullptr) continue;
    const usize writes = program_->writes_.size();
    // A view from outside changes with its owner.
    if (cell->value != held_[i].proxy && !cell->is_view)
      program_->writes_.push_back({i, false, want(Access::handle(*cell))});
    want_gradient(i);
    if (program_->writes_.size() == writes) continue;
    program_->holders_[i].is_written = true;
    if (i < arguments_.size())
      program_->writes_argument_ = true;
    else
      program_->written_state_.insert(cell);
  }
}

std::vector<UOpRef> Capture::compute_wanted() {
  std::vector<UOp> nodes;
  std::vector<usize> at;
  std::vector<UOpRef> results = wanted_;
  for (usize i = 0; i < wanted_.size(); ++i) {
    bool is_empty = false;
    for (usize axis = 0; axis < wanted_[i]->ndim(); ++axis)
      is_empty |= wanted_[i]->dim(axis).max() == 0;
    if (is_empty) continue;
    nodes.push_back(*wanted_[i]);
    at.push_back(i);
  }
  engine::StoredNodes stored = engine::realize(nodes);
  for (usize i = 0; i < at.size(); ++i) results[at[i]] = std::move(stored[i]);
  return results;
}

// Variables are given by the sizes and by the shapes of what comes from outside.
void Capture::name_variables() {
  Bindings bound;
  for (const Size& size : program_->sizes_) {
    if (size.is_const()) continue;
    const UOpRef node = size.expression();
    if (!node->is(Op::Bind)) {
      throw fail(ErrorKind::Unsupported,
                 "size {} as an argument of a jitted function, expected a number or what "
                 "Variable::bind gives",
                 size.str());
    }
    collect_bindings(core::Dim(*node), &bound);
  }
  for (const Held& held : held_) {
    if (!held.proxy) continue;
    for (const core::Dim size : dims_of(*held.proxy)) collect_bindings(size, &bound);
  }
  for (const core::BoundVariable& binding : bound) {
    std::vector<i64>& names = program_->variables_;
    if (std::find(names.begin(), names.end(), binding.name) == names.end())
      names.push_back(binding.name);
  }
  refuse_inner_bindings(bound);
}

// Later calls would give the variable one value everywhere.
void Capture::refuse_inner_bindings(const Bindings& bound) const {
  for (const engine::RecordedRun& run : recorder_.runs) {
    for (const core::BoundVariable& inner : run.variables) {
      for (const core::BoundVariable& outer : bound) {
        if (outer.name != inner.name || outer.value == inner.value) continue;
        throw fail(ErrorKind::Invalid,
                   "variable {} is bound to {} inside a jitted function and to {} by its "
                   "arguments; pass the bound size as an argument",
                   core::interned_name(inner.name), inner.value, outer.value);
      }
    }
  }
}

// As a Replay takes them.
std::vector<UOpRef> Capture::buffers_of(std::span<const UOpRef> results) {
  std::vector<UOpRef> buffers;
  for (const UOpRef& result : results) {
    const UOp holder = TensorGraph::realized(*result), held = holder ? holder : *result;
    const bool several = held.is(Op::Multi);
    program_->has_parts_ |= several;
    program_->results_.push_back({.first = static_cast<u32>(buffers.size()),
                                  .count = part_count(held),
                                  .layout = several ? held.arg(0) : core::kReplicated});
    for (u32 i = 0; i < part_count(held); ++i) buffers.emplace_back(part_of(held, i));
  }
  return buffers;
}

// From here on everyone outside has the values that a plain call would have left.
void Capture::give_back(std::span<const UOpRef> results) {
  for (Held& held : held_) {
    if (held.cell == nullptr || held.stand_in.defined()) continue;
    held.cell->set_value(held.before, false);
    if (held.gradient_in.defined()) held.cell->grad = held.gradient;
  }
  for (const JitProgram::Write& write : program_->writes_) {
    Cell& cell = *Access::cell_untraced(held_[write.holder].outside);
    const Tensor replaced = cell.grad;  // it ends after the pause, so that its end is seen
    Pause pause;
    JitProgram::write(write, cell, results);
  }
}

std::unique_ptr<JitProgram> Capture::finish(std::span<Tensor* const> outputs) {
  for (const Tensor* output : outputs)
    program_->outputs_.push_back(output->defined() ? want(*output) : -1);
  want_changes();
  std::vector<Tensor*> borrowed;
  for (Tensor& argument : arguments_) borrowed.push_back(&argument);
  program_->refuse_aliases(borrowed);
  const std::vector<UOpRef> results = compute_wanted();
  scope_.reset();
  name_variables();
  program_->replay_ = std::make_unique<engine::Replay>(std::move(recorder_.runs), proxies_,
                                                       program_->variables_, buffers_of(results));
  give_back(results);
  for (usize i = 0; i < outputs.size(); ++i)
    if (program_->outputs_[i] >= 0)
      *outputs[i] = made_outside(results[static_cast<usize>(program_->outputs_[i])]);
  held_.clear();
  stand_ins_.clear();
  observer = nullptr;
  if (cells_alive() != 0) {
    throw fail(ErrorKind::Invalid,
               "{} of the tensors that a jitted function made are still held outside it, where "
               "later calls would not change them; return them, or assign() to a tensor that "
               "exists before",
               cells_alive());
  }
  return std::move(program_);
}

}  // namespace doorbell::detail
