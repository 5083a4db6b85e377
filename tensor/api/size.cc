// Arithmetic and printing of sizes. Constants never touch the graph.
#include "tensor/api/size.h"

#include <algorithm>
#include <ostream>

#include "base/util/error.h"

namespace doorbell {

using core::Op;
using core::TensorGraph;
using core::UOpRef;

namespace {

UOpRef index_const(i64 value) {
  return TensorGraph::make(Op::Const, core::dtypes::index, {}, {value});
}

Size combine(Op op, const Size& a, const Size& b) {
  UOpRef left = a.expression();
  UOpRef right = b.expression();
  return Size(TensorGraph::make(op, core::dtypes::index, {*left, *right}));
}

// A sum of products of a node and a number, in the order in which the nodes were met, so that
// (n + 2) - n is 2.
struct Sum {
  struct Term {
    UOpRef node;
    i64 factor;
  };
  absl::InlinedVector<Term, 4> terms;
  i64 constant = 0;

  void add(const Size& size, i64 sign) {
    if (size.is_const()) {
      constant += sign * size.value();
      return;
    }
    const UOpRef root = size.expression();
    absl::InlinedVector<std::pair<core::UOp, i64>, 8> stack{{*root, sign}};
    while (!stack.empty()) {
      const auto [node, factor] = stack.back();
      stack.pop_back();
      if (node.is_const()) {
        constant += factor * node.const_int();
      } else if (node.is(Op::Add) || node.is(Op::Sub)) {
        stack.push_back({node.src(1), node.is(Op::Add) ? factor : -factor});
        stack.push_back({node.src(0), factor});
      } else if (node.is(Op::Mul) && node.src(1).is_const()) {
        stack.push_back({node.src(0), factor * node.src(1).const_int()});
      } else {
        add_term(node, factor);
      }
    }
  }
  void add_term(core::UOp node, i64 factor) {
    for (Term& term : terms) {
      if (*term.node != node) continue;
      term.factor += factor;
      return;
    }
    terms.push_back({UOpRef(node), factor});
  }
  Size size() const {
    UOpRef total;
    for (const Term& term : terms) {
      if (term.factor == 0) continue;
      UOpRef part = term.node;
      if (term.factor != 1) part = node_of(Op::Mul, part, index_const(term.factor));
      total = total ? node_of(Op::Add, total, part) : part;
    }
    if (!total) return constant;
    return Size(constant == 0 ? total : node_of(Op::Add, total, index_const(constant)));
  }
  static UOpRef node_of(Op op, const UOpRef& a, const UOpRef& b) {
    return TensorGraph::make(op, core::dtypes::index, {*a, *b});
  }
};

Size sum_of(const Size& a, const Size& b, i64 sign) {
  Sum sum;
  sum.add(a, 1);
  sum.add(b, sign);
  return sum.size();
}

[[noreturn]] void refuse_overflow(const Size& a, const char* sign, const Size& b) {
  throw fail(ErrorKind::Invalid, "size {} {} {} does not fit 64 bits", a.str(), sign, b.str());
}

i64 floor_div(i64 a, i64 b) {
  i64 quotient = a / b;
  return quotient - ((a % b != 0) && ((a < 0) != (b < 0)) ? 1 : 0);
}

}  // namespace

Size::Size(core::Dim dim) {
  if (dim.is_const())
    value_ = dim.value();
  else
    expression_ = UOpRef(dim.expr());
}

Size::Size(UOpRef expression) {
  if (expression->is_const())
    value_ = expression->const_int();
  else
    expression_ = std::move(expression);
}

i64 Size::value() const {
  if (!is_const()) {
    throw fail(ErrorKind::Unsupported, "size {} is symbolic, expected a constant", str());
  }
  return value_;
}

UOpRef Size::expression() const { return is_const() ? index_const(value_) : expression_; }

Size operator+(const Size& a, const Size& b) {
  if (a.is_const() && b.is_const()) {
    i64 result;
    if (__builtin_add_overflow(a.value_, b.value_, &result)) refuse_overflow(a, "+", b);
    return result;
  }
  if (a.is(0)) return b;
  return b.is(0) ? a : sum_of(a, b, 1);
}

Size operator-(const Size& a, const Size& b) {
  if (a.is_const() && b.is_const()) {
    i64 result;
    if (__builtin_sub_overflow(a.value_, b.value_, &result)) refuse_overflow(a, "-", b);
    return result;
  }
  if (b.is(0)) return a;
  return a == b ? Size(0) : sum_of(a, b, -1);
}

Size operator*(const Size& a, const Size& b) {
  if (a.is_const() && b.is_const()) {
    i64 result;
    if (__builtin_mul_overflow(a.value_, b.value_, &result)) refuse_overflow(a, "*", b);
    return result;
  }
  if (a.is(1)) return b;
  return b.is(1) ? a : combine(Op::Mul, a, b);
}

Size operator/(const Size& a, const Size& b) {
  if (b.is(0)) throw fail(ErrorKind::Invalid, "size {} divided by 0", a.str());
  if (a.is_const() && b.is_const()) return floor_div(a.value_, b.value_);
  if (a == b) return 1;
  return b.is(1) ? a : combine(Op::FloorDiv, a, b);
}

Size operator%(const Size& a, const Size& b) { return a - a / b * b; }

Size ceil_div(const Size& a, const Size& b) { return b.is(1) ? a : (a + b - 1) / b; }

std::string Size::str() const {
  if (is_const()) return std::to_string(value_);
  core::UOp node = *expression_;
  if (node.is(Op::Bind)) node = node.src(0);
  if (node.is(Op::Variable)) return std::string(core::interned_name(node.arg(0)));
  return "<" + std::to_string(min()) + ".." + std::to_string(max()) + ">";
}

bool Shape::is_const() const {
  for (const Size& size : *this) {
    if (!size.is_const()) return false;
  }
  return true;
}

Size Shape::numel() const {
  // However large the others are.
  if (std::any_of(begin(), end(), [](const Size& size) { return size.is(0); })) return 0;
  Size total = 1;
  for (const Size& size : *this) total = total * size;
  return total;
}

std::vector<i64> Shape::values() const {
  std::vector<i64> values;
  values.reserve(size());
  for (const Size& size : *this) values.push_back(size.value());
  return values;
}

std::string Shape::str() const {
  std::string text = "(";
  for (usize i = 0; i < size(); ++i) text += (i == 0 ? "" : ", ") + (*this)[i].str();
  return text + ")";
}

std::ostream& operator<<(std::ostream& os, const Size& size) { return os << size.str(); }
std::ostream& operator<<(std::ostream& os, const Shape& shape) { return os << shape.str(); }

Variable::Variable(std::string_view name, i64 min, i64 max) : name_(name), min_(min), max_(max) {
  if (min > max || min < 0) {
    throw fail(ErrorKind::Invalid, "variable {} has bounds {} to {}", name, min, max);
  }
  node_ =
      TensorGraph::make(Op::Variable, core::dtypes::index, {}, {core::intern_name(name), min, max});
}

Size Variable::bind(i64 value) const {
  if (value < min_ || value > max_) {
    throw fail(ErrorKind::Invalid, "{} is out of the bounds {} to {} of variable {}", value, min_,
               max_, name_);
  }
  UOpRef constant = index_const(value);
  return Size(TensorGraph::make(Op::Bind, core::dtypes::index, {*node_, *constant}));
}

}  // namespace doorbell
