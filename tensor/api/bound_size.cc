// Index expressions are small, but no recursion: each is walked once, sources first.
#include "tensor/api/bound_size.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/util/check.h"
#include "base/util/error.h"
#include "core/eval/eval.h"

namespace doorbell::detail {
namespace {

using core::Op;
using core::TensorGraph;
using core::UOp;
using core::UOpRef;

// Every distinct node of an expression, sources first. A Bind is a leaf.
std::vector<UOp> leaves_first(UOp root) {
  std::vector<UOp> order;
  absl::flat_hash_map<const core::Node*, bool> done;  // looked up, never iterated
  std::vector<UOp> stack{root};
  while (!stack.empty()) {
    const UOp node = stack.back();
    bool& is_done = done[node.node()];
    bool waits = false;
    if (!is_done && !node.is(Op::Bind)) {
      for (const UOp source : node.srcs()) {
        const auto at = done.find(source.node());
        if (at != done.end() && at->second) continue;
        stack.push_back(source);
        waits = true;
      }
    }
    if (waits) continue;
    stack.pop_back();
    bool& now = done[node.node()];
    if (!now) order.push_back(node);
    now = true;
  }
  return order;
}

// The expression with `leaf(node)` in place of Binds and Variables.
template <class Leaf>
Size rebuild(const Size& size, const Leaf& leaf) {
  if (size.is_const()) return size;
  const UOpRef root = size.expression();
  absl::flat_hash_map<const core::Node*, UOpRef> made;  // looked up, never iterated
  for (const UOp node : leaves_first(*root)) {
    UOpRef& now = made[node.node()];
    if (node.is(Op::Bind) || node.is(Op::Variable)) {
      now = leaf(node);
      continue;
    }
    std::array<UOp, 4> sources;
    CHECK_LE(node.nsrc(), sources.size());
    for (usize i = 0; i < node.nsrc(); ++i) sources[i] = *made.at(node.src(i).node());
    now = TensorGraph::make(node.op(), node.dtype(), std::span(sources.data(), node.nsrc()),
                            node.args());
  }
  return Size(made.at(root->node()));
}

}  // namespace

bool is_bound(const Size& size) {
  if (size.is_const()) return true;
  const UOpRef root = size.expression();
  return std::ranges::none_of(leaves_first(*root), [](UOp node) { return node.is(Op::Variable); });
}

i64 bound_value(const Size& size) {
  if (size.is_const()) return size.value();
  const UOpRef root = size.expression();
  if (root->is(Op::Bind)) return root->src(1).const_int();
  absl::flat_hash_map<const core::Node*, core::ScalarValue> values;
  for (const UOp node : leaves_first(*root)) {
    core::ScalarValue value;
    if (node.is(Op::Bind)) {
      value = {node.dtype().scalar, node.src(1).const_int()};
    } else if (node.is_const()) {
      value = {node.dtype().scalar, node.const_int()};
    } else if (node.is(Op::Variable)) {
      throw fail(ErrorKind::Invalid, "variable {} of size {} is bound to nothing",
                 core::interned_name(node.arg(0)), size.str());
    } else {
      std::array<core::ScalarValue, 4> sources;
      for (usize i = 0; i < node.nsrc(); ++i) sources[i] = values.at(node.src(i).node());
      const auto result =
          core::eval(node.op(), node.dtype(), std::span(sources.data(), node.nsrc()));
      if (!result) throw fail(ErrorKind::Invalid, "size {} does not fit 64 bits", size.str());
      value = *result;
    }
    values.emplace(node.node(), value);
  }
  return values.at(root->node()).as_int();
}

std::vector<i64> bound_values(const Shape& shape) {
  std::vector<i64> values;
  values.reserve(shape.size());
  for (const Size& size : shape) values.push_back(bound_value(size));
  return values;
}

std::string str_now(const Size& size) {
  return size.is_const() ? size.str() : fmt::format("{} ({} now)", size.str(), bound_value(size));
}

i64 bound_numel(const Shape& shape) {
  i64 total = 1;
  for (const Size& size : shape) total *= bound_value(size);
  return total;
}

Size without_bindings(const Size& size) {
  return rebuild(size, [](UOp leaf) { return UOpRef(leaf.is(Op::Bind) ? leaf.src(0) : leaf); });
}

Shape without_bindings(const Shape& shape) {
  Shape unbound;
  for (const Size& size : shape) unbound.push_back(without_bindings(size));
  return unbound;
}

bool same_unbound(core::Dim dim, const Size& unbound) {
  if (dim.is_const() || unbound.is_const()) return dim.is_const() && unbound.is(dim.value());
  const UOp expression = dim.expr();
  if (expression.is(Op::Bind)) return expression.src(0) == *unbound.expression();
  return without_bindings(Size(dim)) == unbound;
}

namespace {

UOpRef bound_to(UOp variable, i64 value) {
  const UOpRef constant = TensorGraph::make(Op::Const, core::dtypes::index, {}, {value});
  return TensorGraph::make(Op::Bind, core::dtypes::index, {variable, *constant});
}

}  // namespace

Size rebound(const Size& size, std::span<const core::BoundVariable> bindings) {
  return rebuild(size, [&](UOp leaf) {
    const UOp variable = leaf.is(Op::Bind) ? leaf.src(0) : leaf;
    for (const core::BoundVariable& binding : bindings)
      if (binding.name == variable.arg(0)) return bound_to(variable, binding.value);
    return UOpRef(leaf);
  });
}

Shape with_bindings(const Shape& unbound, std::span<const core::BoundVariable> bindings) {
  Shape shape;
  for (const Size& size : unbound) {
    shape.push_back(rebound(size, bindings));
    CHECK(is_bound(shape.back()), "a variable of size {} has no value", size.str());
  }
  return shape;
}

void require_now(const Size& low, const Size& high, const std::string& what) {
  if (bound_value(low) <= bound_value(high)) return;
  throw fail(ErrorKind::Invalid, "{}: {} is more than {}", what, str_now(low), str_now(high));
}

void collect_bindings(core::Dim dim, Bindings* bindings) {
  if (dim.is_const()) return;
  for (const UOp node : leaves_first(dim.expr()))
    if (node.is(Op::Bind)) bindings->push_back({node.src(0).arg(0), node.src(1).const_int()});
}

}  // namespace doorbell::detail

namespace doorbell {

bool Size::is_now(i64 number) const {
  if (is_const()) return value_ == number;
  if (number < min() || number > max()) return false;
  return detail::is_bound(*this) && detail::bound_value(*this) == number;
}

std::weak_ordering operator<=>(const Size& a, const Size& b) {
  if (a == b) return std::weak_ordering::equivalent;
  if (a.max() < b.min()) return std::weak_ordering::less;
  if (a.min() > b.max()) return std::weak_ordering::greater;
  return detail::bound_value(a) <=> detail::bound_value(b);
}

}  // namespace doorbell
