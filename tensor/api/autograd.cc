// Gradients as the user sees them: marked leaves, backward, gradient. For the calculus see
// gradient.cc.
#include "base/util/check.h"
#include "tensor/api/cell.h"
#include "tensor/api/gradient.h"

namespace doorbell {

using core::Op;
using core::UOp;
using detail::NodeGradient;

namespace {

class StoreGradient final : public detail::GradientRule {
 public:
  Tensor derivative(const Tensor& gradient, const std::vector<Tensor>&, usize) const override {
    return gradient.contiguous();
  }
};

}  // namespace

Tensor Tensor::contiguous_backward() const {
  return detail::with_gradient(*this, {*this}, std::make_unique<StoreGradient>());
}

Tensor& Tensor::requires_grad(bool on) {
  detail::Cell& cell = this->cell();
  if (on && !dtype().is_float()) {
    throw fail(ErrorKind::Invalid, "requires_grad of {}, expected a float dtype",
               core::long_name_of(dtype().scalar));
  }
  if (cell.tracked) {
    throw fail(ErrorKind::Invalid,
               "requires_grad of a tensor computed from marked ones; detach it first");
  }
  if (on && cell.tag == nullptr) {
    cell.tag = new detail::LeafTag;
    cell.tag->ref();
    cell.tag->cell.store(&cell, std::memory_order_release);
  }
  cell.is_leaf = on;
  cell.leaf_node = {};
  return *this;
}

bool Tensor::needs_grad() const { return cell().tracked || cell().is_leaf; }
bool Tensor::is_leaf() const { return cell().is_leaf; }

void detail::Cell::set_gradient(Tensor new_gradient, bool lost) {
  grad = std::move(new_gradient);
  gradient_lost = lost;
}

const Tensor& detail::Cell::gradient() const {
  if (gradient_lost) {
    throw fail(ErrorKind::Invalid,
               "a jitted function used the gradient of a tensor of shape {} itself and did not "
               "keep it; return the gradient, or call zero_grad()",
               Tensor::from_uop(value).shape().str());
  }
  return grad;
}

Tensor Tensor::grad() const {
  detail::Cell& cell = this->cell();
  if (detail::observer != nullptr)
    detail::observer->use_gradient(cell, detail::Observer::GradientAccess::Read);
  return cell.gradient();
}

void Tensor::zero_grad() {
  detail::Cell& cell = this->cell();
  if (detail::observer != nullptr)
    detail::observer->use_gradient(cell, detail::Observer::GradientAccess::Write);
  cell.set_gradient({});
}

void Tensor::set_grad(const Tensor& grad) {
  if (grad.shape() != shape()) {
    throw fail(ErrorKind::Invalid, "gradient of shape {} for a tensor of shape {}",
               grad.shape().str(), shape().str());
  }
  detail::Cell& cell = this->cell();
  if (detail::observer != nullptr)
    detail::observer->use_gradient(cell, detail::Observer::GradientAccess::Write);
  cell.set_gradient(grad);
}

namespace {

detail::LeafTag* tag_of(UOp node) {
  return node.is(Op::Detach) ? static_cast<detail::LeafTag*>(node.payload()) : nullptr;
}

void check_upstream(const Tensor& x, const Tensor& upstream) {
  if (upstream.shape() != x.shape()) {
    throw fail(ErrorKind::Invalid, "upstream gradient of shape {} for a tensor of shape {}",
               upstream.shape().str(), x.shape().str());
  }
}

Tensor one_upstream(const Tensor& x) {
  if (!x.shape().numel().is(1)) {
    throw fail(ErrorKind::Invalid,
               "gradient of a tensor of shape {}, expected a scalar or an upstream gradient",
               x.shape().str());
  }
  return x.ones_like();
}

void check_float(const Tensor& x) {
  if (x.dtype().is_float()) return;
  throw fail(ErrorKind::Invalid, "gradient of or for {}, expected a float dtype",
             core::long_name_of(x.dtype().scalar));
}

}  // namespace

void Tensor::backward() const { backward(one_upstream(*this)); }

void Tensor::backward(const Tensor& upstream) const {
  check_float(*this);
  check_upstream(*this, upstream);
  if (!needs_grad()) {
    throw fail(ErrorKind::Invalid,
               "backward from a tensor that no marked tensor leads to; mark with requires_grad");
  }
  const core::UOpRef root = uop();
  NoGradScope no_grad;
  const std::vector<NodeGradient> gradients = detail::differentiate(
      root, upstream.cast(dtype()), [](UOp node) { return tag_of(node) != nullptr; }, false);
  for (const NodeGradient& found : gradients) {
    detail::Cell* leaf = tag_of(found.node)->cell.load(std::memory_order_acquire);
    if (leaf == nullptr || !leaf->is_leaf) continue;  // no handle is left to read it
    if (detail::observer != nullptr)
      detail::observer->use_gradient(*leaf, detail::Observer::GradientAccess::Read);
    const Tensor before = leaf->gradient();
    if (detail::observer != nullptr)
      detail::observer->use_gradient(*leaf, detail::Observer::GradientAccess::Write);
    leaf->set_gradient(before.defined() ? before + found.gradient : found.gradient);
  }
}

std::vector<Tensor> Tensor::gradient(std::span<const Tensor> targets) const {
  return gradient(targets, one_upstream(*this));
}

namespace {

// Whether `node` is a value of `target`: the mark of a leaf, the same node, or a node whose stored
// value the target has become.
bool stands_for(UOp node, const Tensor& target, UOp target_node) {
  if (node == target_node) return true;
  const detail::LeafTag* tag = tag_of(node);
  if (tag != nullptr) return tag == detail::Access::cell(target).tag;
  UOp stored = core::TensorGraph::realized(node);
  if (!stored || stored != core::TensorGraph::realized(target_node)) return false;
  // A symbolic value and the larger Buffer that it lies in are two things.
  bool same = node.ndim() == target_node.ndim();
  for (usize axis = 0; same && axis < node.ndim(); ++axis)
    same = node.dim(axis) == target_node.dim(axis);
  return same;
}

}  // namespace

std::vector<Tensor> Tensor::gradient(std::span<const Tensor> targets,
                                     const Tensor& upstream) const {
  check_float(*this);
  check_upstream(*this, upstream);
  std::vector<core::UOpRef> nodes;
  for (const Tensor& target : targets) {
    check_float(target);
    nodes.push_back(target.uop());
  }
  auto match = [&](UOp node, usize i) { return stands_for(node, targets[i], *nodes[i]); };
  auto wanted = [&](UOp node) {
    for (usize i = 0; i < targets.size(); ++i) {
      if (match(node, i)) return true;
    }
    return false;
  };
  const std::vector<NodeGradient> found =
      detail::differentiate(uop(), upstream.cast(dtype()), wanted, !NoGradScope::active());
  std::vector<Tensor> results(targets.size());
  for (usize i = 0; i < targets.size(); ++i) {
    for (const NodeGradient& one : found) {
      if (!match(one.node, i)) continue;
      results[i] = results[i].defined() ? results[i] + one.gradient : one.gradient;
    }
    if (!results[i].defined()) results[i] = targets[i].zeros_like();
  }
  return results;
}

}  // namespace doorbell
