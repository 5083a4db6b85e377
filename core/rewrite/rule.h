// Rules as data: a name, a left and a right side in the notation of pattern.h and conditions, or
// code where the notation cannot express it; tables of them with the domain they hold in; and
// RuleSet, the compiled form that finds the rules for a node. For applying them see rewriter.h.
//
//   constexpr Rule kRules[] = {
//       rw("factor", x * c0 + x * c1, x * fold(c0 + c1)),
//       rw("div-of-mul", (x * c1) / c0, x * fold(c1 / c0), divides),
//       rw("expand-reduce", any(Op::Reduce), expand_reduce),
//   };
//   constexpr RuleTable kTable{"index", Domain::Index, kRules};
//
// A right side with a name that the left side does not bind does not compile.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/eval/eval.h"
#include "core/rewrite/pattern.h"
#include "core/uop/uop.h"

namespace doorbell::core {

class Rewriter;

// What a rule's left side was matched to. Borrowed for the call of a condition or of a code rule.
class Match {
 public:
  Match(UOp node, Rewriter& rewriter) : node_(node), rewriter_(&rewriter) {}

  UOp node() const { return node_; }
  Rewriter& rewriter() const { return *rewriter_; }  // builds the replacement
  UOp name(usize i) const { return names_[i]; }
  UOp x() const { return names_[0]; }
  UOp y() const { return names_[1]; }
  // A constant: the Const node itself, also where a Splat of it was matched.
  UOp constant(usize i) const { return constants_[i]; }
  i64 c(usize i) const { return constants_[i].arg(0); }
  f64 real(usize i) const { return std::bit_cast<f64>(constants_[i].arg(0)); }

 private:
  friend class Matcher;
  UOp node_;
  Rewriter* rewriter_;
  std::array<UOp, pat::kNames> names_, constants_;
};

using Condition = bool (*)(const Match&);
// The replacement of match.node(), built with match.rewriter(); a null handle: does not apply.
using RuleCode = UOp (*)(const Match&);

// The numbers for which a table's rules hold: by the dtype of the node, or of the operands of a
// comparison.
enum class Domain : u8 { Index, Int, Float, Bool, Other, Any };
std::string_view name_of(Domain domain);
Domain domain_of(UOp node);

struct Rule {
  std::string_view name;
  pat::Pattern left, right;  // of a rule in the algebra
  std::array<Condition, 2> conditions = {};
  RuleCode code = nullptr;  // of a code rule
  Op root = Op::Const;      // of a code rule: the op, unless any_elementwise
  bool any_elementwise = false;
  // What a float rule changes, if anything: "sign of zero", "rounding", ...
  std::string_view relaxes = {};
  // Bit i set: cell i is commutative and both orders of its sources are tried. Filled by rw.
  u16 swappable = 0;

  constexpr Rule relaxing(std::string_view what) const {
    Rule r = *this;
    r.relaxes = what;
    return r;
  }
};

struct RuleTable {
  std::string_view name;
  Domain domain;
  std::span<const Rule> rules;
};

namespace pat {
struct AnyNode {
  Op op;
  bool elementwise;
};
}  // namespace pat

constexpr pat::AnyNode any(Op op) { return {op, false}; }
inline constexpr pat::AnyNode any_elementwise{Op::Const, true};

namespace detail {
// Constants come last in a commutative node, so no order that puts one first is tried.
constexpr u16 swappable_cells(const pat::Pattern& p) {
  u16 mask = 0;
  for (u8 i = 0; i < p.count; ++i) {
    const pat::Cell& cell = p.cells[i];
    if (cell.kind != pat::Cell::Kind::Node || !is_commutative(cell.op)) continue;
    const pat::Cell &a = p.cells[cell.srcs[0]], &b = p.cells[cell.srcs[1]];
    bool constant_last = b.kind == pat::Cell::Kind::Constant || b.kind == pat::Cell::Kind::Literal;
    bool alike = a.kind == pat::Cell::Kind::Name && b.kind == pat::Cell::Kind::Name;
    // Two bare names match either way, unless a name is also used elsewhere.
    if (!constant_last && !(alike && p.count == 3)) mask = static_cast<u16>(mask | 1u << i);
  }
  return mask;
}

consteval void check_rule(const pat::Pattern& left, const pat::Pattern& right) {
  if (left.root().kind != pat::Cell::Kind::Node) throw "left-hand side is no operation";
  std::array<bool, pat::kNames> names = {}, constants = {};
  for (u8 i = 0; i < left.count; ++i) {
    const pat::Cell& cell = left.cells[i];
    if (cell.folded) throw "fold on the left-hand side";
    if (cell.kind == pat::Cell::Kind::Name) names[cell.name] = true;
    if (cell.kind == pat::Cell::Kind::Constant) constants[cell.name] = true;
  }
  for (u8 i = 0; i < right.count; ++i) {
    const pat::Cell& cell = right.cells[i];
    if (cell.kind == pat::Cell::Kind::Name && !names[cell.name])
      throw "right-hand side uses an unbound name";
    if (cell.kind == pat::Cell::Kind::Constant && !constants[cell.name])
      throw "right-hand side uses an unbound constant";
    if (cell.kind == pat::Cell::Kind::Name && cell.folded) throw "fold of what is no constant";
  }
}
}  // namespace detail

consteval Rule rw(std::string_view name, const pat::Pattern& left, const pat::Pattern& right,
                  Condition first = nullptr, Condition second = nullptr) {
  detail::check_rule(left, right);
  Rule rule;
  rule.name = name;
  rule.left = left;
  rule.right = right;
  rule.conditions = {first, second};
  rule.root = left.root().op;
  rule.swappable = detail::swappable_cells(left);
  return rule;
}

consteval Rule rw(std::string_view name, pat::AnyNode root, RuleCode code) {
  Rule rule;
  rule.name = name;
  rule.code = code;
  rule.root = root.op;
  rule.any_elementwise = root.elementwise;
  return rule;
}

// Tables compiled: for each domain and op the rules in order, each with the ops that must be among
// a node's sources. Immutable, shared by all Rewriters and threads.
class RuleSet {
 public:
  explicit RuleSet(std::span<const RuleTable* const> tables);

  struct Entry {
    u64 needs;  // bits of source ops (source_bit)
    const Rule* rule;
  };
  std::span<const Entry> rules_for(Domain domain, Op op) const {
    return entries_[static_cast<usize>(domain)][static_cast<usize>(op)];
  }
  std::span<const RuleTable* const> tables() const { return tables_; }

  // One bit per op below 63, one for all above; Const also stands for a Splat of one.
  static constexpr u64 source_bit(Op op) {
    u8 number = static_cast<u8>(op);
    return u64{1} << (number < 63 ? number : 63);
  }

 private:
  std::vector<const RuleTable*> tables_;
  std::array<std::array<std::vector<Entry>, kOpCount>, 5> entries_;
};

}  // namespace doorbell::core
