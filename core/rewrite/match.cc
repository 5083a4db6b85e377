// Matching tries each order of the commutative cells in turn: patterns have few of them. Building
// goes through Rewriter::make, so a replacement is simplified as it is made.
#include "core/rewrite/match.h"

#include <fmt/format.h>

#include "base/util/check.h"
#include "core/rewrite/rewriter.h"

namespace doorbell::core {

using pat::Cell;

bool Matcher::literal_matches(const Cell& cell, UOp node) const {
  UOp constant = constant_behind(node);
  if (!constant) return false;
  DType t = constant.dtype();
  if (cell.boolean && !t.is_bool()) return false;
  if (!t.is_float()) return !cell.real && constant.arg(0) == ScalarValue::of_int(t, cell.bits).bits;
  f64 wanted = cell.real ? std::bit_cast<f64>(cell.bits) : static_cast<f64>(cell.bits);
  return constant.arg(0) == std::bit_cast<i64>(wanted);  // tells -0.0 from 0.0
}

bool Matcher::match_leaf(const Cell& cell, UOp node) {
  if (cell.kind == Cell::Kind::Literal) return literal_matches(cell, node);
  UOp* bound = &match_.names_[cell.name];
  if (cell.kind == Cell::Kind::Constant) {
    node = constant_behind(node);
    if (!node) return false;
    bound = &match_.constants_[cell.name];
  }
  if (!*bound) *bound = node;
  return *bound == node;
}

bool Matcher::match_in_order(u16 swaps) {
  std::array<Pending, pat::kMaxCells> stack;
  usize depth = 0;
  stack[depth++] = {static_cast<u8>(rule_.left.count - 1), match_.node_};
  while (depth > 0) {
    auto [at, node] = stack[--depth];
    const Cell& cell = rule_.left.cells[at];
    if (cell.kind != Cell::Kind::Node) {
      if (match_leaf(cell, node)) continue;
      if (reason_) *reason_ = fmt::format("{} does not fit cell {}", name_of(node.op()), at);
      return false;
    }
    if (node.op() != cell.op || node.nsrc() != cell.nsrc) {
      if (reason_)
        *reason_ = fmt::format("wanted {}, found {}", name_of(cell.op), name_of(node.op()));
      return false;
    }
    bool swap = swaps >> at & 1;
    for (u8 i = 0; i < cell.nsrc; ++i) {
      u8 src = swap ? static_cast<u8>(1 - i) : i;
      stack[depth++] = {cell.srcs[i], node.src(src)};
    }
  }
  return true;
}

bool Matcher::match_left() {
  // All subsets of the swappable cells, the written order first.
  u16 swaps = 0;
  while (true) {
    match_.names_ = {};
    match_.constants_ = {};
    if (match_in_order(swaps) && conditions_hold()) return true;
    swaps = static_cast<u16>((swaps - rule_.swappable) & rule_.swappable);
    if (swaps == 0) return false;
  }
}

bool Matcher::conditions_hold() const {
  for (Condition condition : rule_.conditions) {
    if (condition && !condition(match_)) {
      if (reason_) *reason_ = "a condition does not hold";
      return false;
    }
  }
  return true;
}

// The dtype that a built cell will have; Void if the cell has only literals.
DType Matcher::dtype_of_cell(u8 at) const {
  const Cell& cell = rule_.right.cells[at];
  switch (cell.kind) {
    case Cell::Kind::Name: return match_.names_[cell.name].dtype();
    case Cell::Kind::Constant:
      // A constant inside vector code is a Splat again.
      return match_.constants_[cell.name].dtype().with_lanes(match_.node_.dtype().lanes);
    case Cell::Kind::Literal: return dtypes::void_;
    case Cell::Kind::Node: break;
  }
  DType found = dtypes::void_;
  for (u8 i = cell.op == Op::Where ? 1 : 0; i < cell.nsrc && found == dtypes::void_; ++i)
    found = dtype_of_cell(cell.srcs[i]);
  return is_comparison(cell.op) ? dtypes::bool_.with_lanes(found.lanes) : found;
}

bool Matcher::build_constant(u8 at, DType expected, ScalarValue* value) const {
  const Cell& cell = rule_.right.cells[at];
  DType own = dtype_of_cell(at);
  DType dtype = own == dtypes::void_ ? expected : own;
  if (cell.kind == Cell::Kind::Literal) {
    if (dtype.is_float())
      *value = ScalarValue::of_float(
          dtype, cell.real ? std::bit_cast<f64>(cell.bits) : static_cast<f64>(cell.bits));
    else
      *value = ScalarValue::of_int(dtype, cell.bits);
    return true;
  }
  if (cell.kind == Cell::Kind::Constant) {
    UOp constant = match_.constants_[cell.name];
    *value = {constant.dtype().scalar, constant.arg(0)};
    return true;
  }
  std::array<ScalarValue, 3> args;
  for (u8 i = 0; i < cell.nsrc; ++i) {
    if (!build_constant(cell.srcs[i], dtype, &args[i])) return false;
  }
  std::optional<ScalarValue> result = eval(cell.op, dtype, std::span(args).first(cell.nsrc));
  if (result) *value = *result;
  return result.has_value();
}

// As deep as the pattern. Null where a fold has no value.
UOp Matcher::build(u8 at, DType expected) const {
  const Cell& cell = rule_.right.cells[at];
  Rewriter& rewriter = match_.rewriter();
  if (cell.kind == Cell::Kind::Name) return match_.names_[cell.name];
  if (cell.kind != Cell::Kind::Node || cell.folded) {
    ScalarValue value;
    if (!build_constant(at, expected, &value)) return UOp();
    return rewriter.constant(DType{value.scalar, expected.lanes}, value);
  }
  DType dtype = dtype_of_cell(at);
  if (dtype == dtypes::void_) dtype = expected;
  DType operand = dtype;
  if (is_comparison(cell.op)) {
    operand = dtype_of_cell(cell.srcs[0]);
    if (operand == dtypes::void_) operand = dtype_of_cell(cell.srcs[1]);
  }
  std::array<UOp, 3> srcs;
  for (u8 i = 0; i < cell.nsrc; ++i) {
    bool condition = cell.op == Op::Where && i == 0;
    srcs[i] = build(cell.srcs[i], condition ? dtypes::bool_.with_lanes(dtype.lanes) : operand);
    if (!srcs[i]) return UOp();
  }
  return rewriter.make(cell.op, dtype, std::span(srcs).first(cell.nsrc));
}

UOp Matcher::apply() {
  if (rule_.code) return rule_.code(match_);
  if (!match_left()) return UOp();
  return build(static_cast<u8>(rule_.right.count - 1), match_.node_.dtype());
}

std::string Matcher::explain() {
  std::string reason = "the right side has no value";
  reason_ = &reason;
  UOp result = apply();
  reason_ = nullptr;
  if (result) return "applies";
  return rule_.code ? "the code declined" : reason;
}

}  // namespace doorbell::core
