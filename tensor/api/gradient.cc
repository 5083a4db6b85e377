// Reverse differentiation: sources before users once, then back from the root, adding up what each
// user passes to its sources. No recursion: a graph may be a million nodes deep.
#include "tensor/api/gradient.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>

#include "base/util/check.h"
#include "tensor/api/cell.h"
#include "tensor/api/node.h"
#include "tensor/api/view.h"

namespace doorbell::detail {

Tensor DerivativeStep::value() const { return Tensor::from_uop(UOpRef(node), differentiable); }
Tensor DerivativeStep::src(usize i) const {
  return Tensor::from_uop(UOpRef(node.src(i)), differentiable);
}

namespace {

struct Visit {
  UOp node;
  bool is_wanted;
  bool reaches = false;  // a wanted node is at or below it
  Tensor gradient;
};

struct Walk {
  std::vector<Visit> order;  // sources first
  absl::flat_hash_map<const core::Node*, usize> place;
};

// The sources that gradients flow to: none of Detach, the inputs of a CustomGradient.
usize first_source(UOp node) { return node.is(Op::CustomGradient) ? 1 : 0; }
usize end_source(UOp node) { return node.is(Op::Detach) ? 0 : node.nsrc(); }

// What gradients may flow through: values of floats.
bool carries(UOp node) { return node.dtype().is_float(); }

Walk walk_below(UOp root, const std::function<bool(UOp)>& wanted) {
  Walk walk;
  struct Frame {
    UOp node;
    usize next;
  };
  std::vector<Frame> stack;
  constexpr usize kOpen = ~usize{0};
  auto enter = [&](UOp node) {
    if (!carries(node) || !walk.place.try_emplace(node.node(), kOpen).second) return;
    stack.push_back({node, first_source(node)});
  };
  enter(root);
  while (!stack.empty()) {
    Frame& frame = stack.back();
    const UOp node = frame.node;
    if (frame.next < end_source(node)) {
      enter(node.src(frame.next++));
      continue;
    }
    Visit visit{.node = node, .is_wanted = wanted(node)};
    visit.reaches = visit.is_wanted;
    for (usize i = first_source(node); i < end_source(node); ++i) {
      auto found = walk.place.find(node.src(i).node());
      if (found != walk.place.end()) visit.reaches |= walk.order[found->second].reaches;
    }
    walk.place[node.node()] = walk.order.size();
    walk.order.push_back(std::move(visit));
    stack.pop_back();
  }
  return walk;
}

// Sums over the axes along which the source was repeated.
Tensor sum_to(const Tensor& gradient, UOp source) {
  const usize rank = static_cast<usize>(gradient.ndim()), kept = source.ndim();
  CHECK_LE(kept, rank);
  std::vector<i64> axes;
  Shape shape;
  for (usize i = 0; i < rank; ++i) {
    const bool added = i < rank - kept;
    const bool repeated = !added && source.dim(i - (rank - kept)) == core::Dim(1) &&
                          !gradient.size(static_cast<i64>(i)).is(1);
    if (added || repeated) axes.push_back(static_cast<i64>(i));
  }
  for (usize i = 0; i < kept; ++i) shape.push_back(Size(source.dim(i)));
  return axes.empty() ? gradient : gradient.sum(axes).reshape(shape);
}

void pass_to_sources(Walk& walk, const Visit& visit, bool differentiable) {
  const Derivative derivative = derivative_of(visit.node.op());
  if (derivative == nullptr) return;
  const DerivativeStep step{visit.node, visit.gradient, differentiable};
  for (usize i = first_source(visit.node); i < end_source(visit.node); ++i) {
    const UOp source = visit.node.src(i);
    auto found = walk.place.find(source.node());
    if (found == walk.place.end() || !walk.order[found->second].reaches) continue;
    Tensor passed = derivative(step, i);
    if (!passed.defined()) continue;
    passed = sum_to(passed, source).cast(source.dtype());
    Tensor& total = walk.order[found->second].gradient;
    total = total.defined() ? total + passed : passed;
  }
}

}  // namespace

Tensor with_gradient(const Tensor& value, const std::vector<Tensor>& inputs,
                     std::unique_ptr<const GradientRule> rule) {
  std::vector<const Tensor*> srcs{&value};
  for (const Tensor& input : inputs) srcs.push_back(&input);
  return make(Op::CustomGradient, value.dtype(), srcs, {}, {},
              const_cast<GradientRule*>(rule.release()));
}

namespace {

class FunctionRule final : public GradientRule {
 public:
  explicit FunctionRule(DerivativeOf derivative) : derivative_(std::move(derivative)) {}
  Tensor derivative(const Tensor& gradient, const std::vector<Tensor>& inputs,
                    usize input) const override {
    return derivative_(gradient, inputs, input);
  }

 private:
  const DerivativeOf derivative_;
};

}  // namespace

Tensor with_derivative(const Tensor& value, const std::vector<Tensor>& inputs, DerivativeOf rule) {
  return with_gradient(value, inputs, std::make_unique<FunctionRule>(std::move(rule)));
}

Tensor flat_in(const Tensor& value, const std::vector<Tensor>& inputs) {
  const bool any = std::any_of(inputs.begin(), inputs.end(),
                               [](const Tensor& input) { return input.dtype().is_float(); });
  if (!any) return value;
  return with_derivative(value, inputs,
                         [](const Tensor&, const std::vector<Tensor>&, usize) { return Tensor(); });
}

std::vector<NodeGradient> differentiate(const UOpRef& root, const Tensor& upstream,
                                        const std::function<bool(UOp)>& wanted,
                                        bool differentiable) {
  Walk walk = walk_below(*root, wanted);
  std::vector<NodeGradient> results;
  if (walk.order.empty() || !walk.order.back().reaches) return results;
  walk.order.back().gradient = upstream;
  for (usize i = walk.order.size(); i-- > 0;) {
    Visit& visit = walk.order[i];
    if (!visit.reaches) continue;
    if (visit.gradient.defined()) pass_to_sources(walk, visit, differentiable);
    if (visit.is_wanted) {
      Tensor gradient = visit.gradient;
      if (!gradient.defined()) gradient = Tensor::from_uop(UOpRef(visit.node)).zeros_like();
      results.push_back({visit.node, unshared(gradient)});  // not with `upstream`
    }
    visit.gradient = {};  // its sources have what they need
  }
  return results;
}

}  // namespace doorbell::detail
