// Rewriter: makes nodes of an arena in simplest form. Simplification happens when a node is made,
// so there are no passes to a fixpoint: `make` interns the candidate and tries the rules for its
// op; a rule's replacement is itself made by `make`. For the rules see core/rules.
//
// A node that no rule changes is flagged Node::kCanonical, one that was changed is remembered with
// its simplified form, so making either again is a table look-up. Both marks belong to the arena:
// all Rewriters of one arena must have the same rules, or each a superset of the one before it
// (then what was simplest for the smaller set is not tried again under the larger).
//
// make calls itself through rules. A node being simplified counts as its own simplest form, so
// rules that undo each other end; and beyond kMaxDepth nested makes a node is left as it is, which
// is correct, if not simplest.
//
// Thread safety: one thread at a time, as for the arena.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/rewrite/rule.h"
#include "core/uop/arena.h"

namespace doorbell::core {

class Rewriter {
 public:
  // `rules` is borrowed, usually static (core/rules/rules.h).
  Rewriter(Arena& arena, const RuleSet& rules) : arena_(arena), rules_(&rules) { trace_if_asked(); }
  // Compiles the tables for itself.
  Rewriter(Arena& arena, std::span<const RuleTable* const> tables)
      : arena_(arena), owned_(std::make_unique<RuleSet>(tables)), rules_(owned_.get()) {
    trace_if_asked();
  }
  Rewriter(const Rewriter&) = delete;
  Rewriter& operator=(const Rewriter&) = delete;

  Arena& arena() const { return arena_; }

  // The node with these parts, in simplest form; sources are in simplest form.
  UOp make(Op op, DType dtype, std::span<const UOp> srcs, std::span<const i64> args = {},
           Payload* payload = nullptr) {
    return simplified(arena_.make(op, dtype, srcs, args, payload));
  }
  UOp make(Op op, DType dtype, std::initializer_list<UOp> srcs,
           std::initializer_list<i64> args = {}) {
    return make(op, dtype, std::span(srcs.begin(), srcs.size()),
                std::span(args.begin(), args.size()));
  }
  // The same op, dtype and args over other sources.
  UOp with_srcs(UOp uop, std::span<const UOp> srcs) {
    return make(uop.op(), uop.dtype(), srcs, uop.args(), uop.payload());
  }
  // For rules whose result is in simplest form already: interned, and no rules are tried.
  UOp make_canonical(Op op, DType dtype, std::initializer_list<UOp> srcs);

  // Integer constants; of any int, Index or Bool dtype.
  UOp index(i64 value) { return arena_.index(value); }
  UOp constant(DType dtype, ScalarValue value);
  UOp constant_int(DType dtype, i64 value) {
    return constant(dtype, ScalarValue::of_int(dtype, value));
  }
  UOp boolean(bool value) { return arena_.const_int(dtypes::bool_, value); }

  UOp add(UOp a, UOp b) { return make(Op::Add, a.dtype(), {a, b}); }
  UOp sub(UOp a, UOp b) { return make(Op::Sub, a.dtype(), {a, b}); }
  UOp mul(UOp a, UOp b) { return make(Op::Mul, a.dtype(), {a, b}); }
  UOp neg(UOp a) { return make(Op::Neg, a.dtype(), {a}); }
  UOp floordiv(UOp a, UOp b) { return make(Op::FloorDiv, a.dtype(), {a, b}); }
  UOp floormod(UOp a, UOp b) { return make(Op::FloorMod, a.dtype(), {a, b}); }
  UOp max(UOp a, UOp b) { return make(Op::Max, a.dtype(), {a, b}); }
  UOp min(UOp a, UOp b);  // of Index: its bounds are those of a maximum
  UOp lt(UOp a, UOp b) { return make(Op::CmpLt, bool_like(a), {a, b}); }
  UOp ge(UOp a, UOp b) { return lnot(lt(a, b)); }  // of integers
  UOp eq(UOp a, UOp b) { return make(Op::CmpEq, bool_like(a), {a, b}); }
  UOp ne(UOp a, UOp b) { return make(Op::CmpNe, bool_like(a), {a, b}); }
  UOp land(UOp a, UOp b) { return make(Op::And, a.dtype(), {a, b}); }
  UOp lor(UOp a, UOp b) { return make(Op::Or, a.dtype(), {a, b}); }
  UOp lnot(UOp a) {  // of Bool
    UOp yes = constant_int(a.dtype(), 1);
    return make(Op::CmpNe, a.dtype(), {a, yes});
  }
  UOp where(UOp c, UOp a, UOp b) { return make(Op::Where, a.dtype(), {c, a, b}); }
  UOp cast(UOp a, DType dtype) { return make(Op::Cast, dtype, {a}); }
  // The same with a constant.
  UOp add(UOp a, i64 b) { return add(a, constant_int(a.dtype(), b)); }
  UOp mul(UOp a, i64 b) { return mul(a, constant_int(a.dtype(), b)); }
  UOp floordiv(UOp a, i64 b) { return floordiv(a, constant_int(a.dtype(), b)); }
  UOp floormod(UOp a, i64 b) { return floormod(a, constant_int(a.dtype(), b)); }
  UOp lt(UOp a, i64 b) { return lt(a, constant_int(a.dtype(), b)); }
  UOp ge(UOp a, i64 b) { return ge(a, constant_int(a.dtype(), b)); }

  // The whole graph below `root` in simplest form. One bottom-up walk: make leaves nothing to
  // repeat.
  UOp rewrite(UOp root) { return substitute(root, {}); }
  // Replaces nodes by nodes of the same dtype, everywhere below `root`, and simplifies what
  // changes; what is not simplest yet is simplified too. Replacements are not searched themselves.
  UOp substitute(UOp root, std::span<const std::pair<UOp, UOp>> replacements);

  // Called at every firing: the rule, the node it matched, its replacement. With REWRITE_TRACE it
  // starts as that of core/rewrite/trace.h.
  using Trace = void (*)(void* context, const Rule& rule, UOp before, UOp after);
  void set_trace(Trace trace, void* context) {
    trace_ = trace;
    trace_context_ = context;
  }
  u64 visits() const { return visits_; }  // nodes for which rules were tried
  u64 firings() const { return firings_; }
  u64 depth_stops() const { return depth_stops_; }  // nodes left alone because of kMaxDepth

  static constexpr int kMaxDepth = 128;

 private:
  friend class AssumptionScope;
  void trace_if_asked();
  static DType bool_like(UOp a) { return dtypes::bool_.with_lanes(a.dtype().lanes); }
  UOp simplified(UOp candidate) {
    if (candidate.node()->flags & Node::kCanonical) return candidate;
    return simplify(candidate);
  }
  UOp simplify(UOp candidate);
  UOp apply_rules(UOp candidate);

  // A mark per node for one walk, cleared by counting generations; walks nest (a rule may
  // substitute), so there is a stack of them.
  struct Marks {
    struct Entry {
      u32 generation = 0;
      const Node* result = nullptr;
    };
    std::vector<Entry> entries;
    u32 generation = 0;
  };
  Marks& open_marks();
  void close_marks() { --open_marks_; }

  Arena& arena_;
  std::unique_ptr<RuleSet> owned_;
  const RuleSet* rules_;
  std::vector<const Node*> forward_;  // by node id: the simplest form of what a rule changed
  std::vector<std::unique_ptr<Marks>> marks_;
  usize open_marks_ = 0;
  int depth_ = 0;
  i64 assumptions_ = 0;
  u64 visits_ = 0, firings_ = 0, depth_stops_ = 0;
  Trace trace_ = nullptr;
  void* trace_context_ = nullptr;
};

// While it lives, variables that stand for assumed expressions (core/rules/validity.h) are named by
// its depth, so that those of nested simplifications differ.
class AssumptionScope {
 public:
  explicit AssumptionScope(Rewriter& rewriter) : rewriter_(rewriter) { ++rewriter_.assumptions_; }
  ~AssumptionScope() { --rewriter_.assumptions_; }
  AssumptionScope(const AssumptionScope&) = delete;
  AssumptionScope& operator=(const AssumptionScope&) = delete;
  i64 depth() const { return rewriter_.assumptions_; }

 private:
  Rewriter& rewriter_;
};

// Why a rule does not apply to a node, in words; "applies" where it does.
std::string explain(const Rule& rule, UOp node, Rewriter& rewriter);

}  // namespace doorbell::core
