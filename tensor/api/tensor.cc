// The handle itself: its cell, what it is, the scopes of the thread.
#include "tensor/api/tensor.h"

#include "base/util/check.h"
#include "tensor/api/axes.h"
#include "tensor/api/bound_size.h"
#include "tensor/api/cell.h"
#include "tensor/api/node.h"
#include "tensor/api/view.h"

namespace doorbell {

using core::UOp;
using core::UOpRef;

namespace {

// A symbolic shape is stored in a Buffer of the largest shape, which cannot stand for the value.
bool same_shape(UOp a, UOp b) {
  if (a.ndim() != b.ndim()) return false;
  for (usize i = 0; i < a.ndim(); ++i) {
    if (a.dim(i) != b.dim(i)) return false;
  }
  return true;
}

}  // namespace

namespace detail {

Cell::Cell(UOpRef value, bool tracked) : value(std::move(value)), tracked(tracked) {
  if (observer != nullptr) [[unlikely]]
    born = observer->cell_born();
}

Cell::~Cell() {
  if (born != 0 && observer != nullptr) [[unlikely]]
    observer->cell_gone(born);
  if (alias != nullptr && !is_view) alias->retire(*this);
  if (tag == nullptr) return;
  tag->cell.store(nullptr, std::memory_order_release);
  tag->unref();
}

void Cell::resolve() {
  const Tensor made = (*deferred)();
  set_value(made.uop(), made.needs_grad());
  deferred.reset();
}

void Cell::set_value(UOpRef new_value, bool new_tracked) {
  if (is_view) keep_steps(*this);
  value = std::move(new_value);
  tracked = new_tracked && !is_leaf;
  leaf_node = {};
  if (alias != nullptr && !is_view && alias.use_count() > 1)
    alias->version.fetch_add(1, std::memory_order_acq_rel);
}

void Cell::set_stored(UOpRef stored) {
  release_if_alone(*this);
  if (is_view) keep_steps(*this);
  value = std::move(stored);
  tracked = false;
  leaf_node = {};
}

bool Cell::is_old() const { return alias->version.load(std::memory_order_acquire) != seen; }

void Cell::refresh() { refresh_view(*this); }

void Cell::unlink() {
  if (alias != nullptr && !is_view) alias->retire(*this);
  alias = nullptr;
  steps = nullptr;
  moves = 0;
  is_view = is_expanded = is_detached = is_of_leaf_view = false;
  is_row_major = true;
}

UOp Cell::node(bool with_gradient) {
  if (is_leaf && with_gradient) {
    if (!leaf_node) {
      UOp source = *value;
      leaf_node =
          TensorGraph::make(Op::Detach, source.dtype(), std::span<const UOp>(&source, 1), {}, tag);
    }
    return *leaf_node;
  }
  // A value that no gradient passes through may be forgotten once it is stored.
  if (!tracked) {
    const UOp stored = TensorGraph::realized(*value);
    if (stored && stored != *value && same_shape(stored, *value)) return stored;
  }
  return *value;
}

}  // namespace detail

Tensor::Tensor(const Tensor& other) : cell_(other.cell_) {
  if (cell_ != nullptr) cell_->ref();
}

Tensor& Tensor::operator=(const Tensor& other) {
  Tensor copy(other);
  std::swap(cell_, copy.cell_);
  return *this;
}

Tensor& Tensor::operator=(Tensor&& other) noexcept {
  std::swap(cell_, other.cell_);
  return *this;
}

Tensor::~Tensor() {
  if (cell_ != nullptr) cell_->unref();
}

Tensor Tensor::from_uop(UOpRef value, bool needs_grad) {
  return Tensor(new detail::Cell(std::move(value), needs_grad));
}

detail::Cell& Tensor::cell() const {
  if (cell_ == nullptr) throw fail(ErrorKind::Invalid, "the tensor is not defined");
  if (cell_->deferred) [[unlikely]]
    cell_->resolve();
  if (detail::observer != nullptr) [[unlikely]]
    detail::observer->use(*cell_);
  cell_->bring_up_to_date();
  return *cell_;
}

UOpRef Tensor::uop() const { return UOpRef(cell().node(!NoGradScope::active())); }

Shape Tensor::shape() const {
  UOp node = *cell().value;
  Shape shape;
  for (usize i = 0; i < node.ndim(); ++i) shape.push_back(Size(node.dim(i)));
  return shape;
}

Size Tensor::size(i64 axis) const {
  return Size(cell().value->dim(static_cast<usize>(detail::resolve_axis(axis, ndim()))));
}

i64 Tensor::ndim() const { return static_cast<i64>(cell().value->ndim()); }

i64 Tensor::numel() const {
  UOp node = *cell().value;
  i64 total = 1;
  bool fits = true;
  for (usize i = 0; i < node.ndim(); ++i) {
    const core::Dim size = node.dim(i);
    const i64 length = size.is_const() ? size.value() : detail::bound_value(Size(size));
    if (length == 0) return 0;
    fits = fits && !__builtin_mul_overflow(total, length, &total);
  }
  if (!fits) detail::refuse_count(shape());
  return total;
}

i64 Tensor::nbytes() const { return detail::bytes_of(numel(), dtype()); }

Shape Tensor::max_shape() const {
  Shape largest = shape();
  for (Size& size : largest) size = size.max();
  return largest;
}

DType Tensor::dtype() const { return detail::Access::cell(*this).value->dtype(); }

bool Tensor::is_realized() const {
  return static_cast<bool>(core::TensorGraph::realized(*cell().value));
}

Index::Index(const Tensor& tensor) : item_(std::make_shared<const Tensor>(tensor)) {}

namespace {
thread_local bool training = false;
thread_local bool no_grad = false;
}  // namespace

TrainingScope::TrainingScope(bool on) : previous_(training) { training = on; }
TrainingScope::~TrainingScope() { training = previous_; }
bool TrainingScope::active() { return training; }

NoGradScope::NoGradScope() : previous_(no_grad) { no_grad = true; }
NoGradScope::~NoGradScope() { no_grad = previous_; }
bool NoGradScope::active() { return no_grad; }

}  // namespace doorbell
