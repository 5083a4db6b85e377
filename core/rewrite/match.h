// Matcher: one rule against one node, and the building of its right side. For which rules are tried
// when see rewriter.h.
#pragma once

#include <string>

#include "core/rewrite/rule.h"

namespace doorbell::core {

// The Const behind a constant node: itself, or what a Splat repeats. Null where it is neither.
inline UOp constant_behind(UOp node) {
  if (node.is(Op::Const)) return node;
  if (node.is(Op::Splat) && node.src(0).is(Op::Const)) return node.src(0);
  return UOp();
}

class Matcher {
 public:
  Matcher(const Rule& rule, UOp node, Rewriter& rewriter) : rule_(rule), match_(node, rewriter) {}

  // The replacement; null where the rule does not apply.
  UOp apply();
  // Why the rule does not apply to the node, or "applies".
  std::string explain();

 private:
  // A cell of the pattern and the node to compare it with.
  struct Pending {
    u8 cell;
    UOp node;
  };
  bool match_left();
  bool match_in_order(u16 swaps);
  bool match_leaf(const pat::Cell& cell, UOp node);
  bool literal_matches(const pat::Cell& cell, UOp node) const;
  bool conditions_hold() const;
  DType dtype_of_cell(u8 cell) const;
  bool build_constant(u8 cell, DType expected, ScalarValue* value) const;
  UOp build(u8 cell, DType expected) const;

  const Rule& rule_;
  Match match_;
  std::string* reason_ = nullptr;  // filled when explaining
};

}  // namespace doorbell::core
