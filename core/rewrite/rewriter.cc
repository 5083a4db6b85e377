// The rewriter's loop over rules, and its one walk over graphs.
#include "core/rewrite/rewriter.h"

#include <algorithm>

#include "base/util/check.h"
#include "core/rewrite/match.h"
#include "core/rewrite/trace.h"
#include "core/util/config.h"

namespace doorbell::core {

void Rewriter::trace_if_asked() {
  if (config().rewrite_trace) trace_ = log_firing;
}

UOp Rewriter::make_canonical(Op op, DType dtype, std::initializer_list<UOp> srcs) {
  UOp made = arena_.make(op, dtype, srcs);
  made.node()->flags |= Node::kCanonical;
  return made;
}

UOp Rewriter::constant(DType dtype, ScalarValue value) {
  UOp scalar = arena_.make(Op::Const, dtype.element(), {}, {value.bits});
  if (dtype.lanes == 1) return scalar;
  return arena_.make(Op::Splat, dtype, {scalar});
}

UOp Rewriter::min(UOp a, UOp b) {
  if (!a.dtype().is_index()) {
    UOp less = lt(a, b);
    return where(less, a, b);
  }
  UOp minus_a = mul(a, -1), minus_b = mul(b, -1);
  return mul(max(minus_a, minus_b), -1);
}

UOp Rewriter::simplify(UOp candidate) {
  const u32 id = candidate.id();
  if (id < forward_.size() && forward_[id]) return UOp(forward_[id]);
  if (depth_ >= kMaxDepth) {
    ++depth_stops_;
    return candidate;
  }
  if (id >= forward_.size()) {
    forward_.resize(std::max<usize>(std::max<usize>(id + 1u, 256), forward_.size() * 2));
  }
  forward_[id] = candidate.node();  // its own simplest form while its rules run
  ++depth_;
  UOp result = apply_rules(candidate);
  --depth_;
  if (result == candidate) candidate.node()->flags |= Node::kCanonical;
  forward_[id] = result.node();
  return result;
}

UOp Rewriter::apply_rules(UOp candidate) {
  std::span<const RuleSet::Entry> entries = rules_->rules_for(domain_of(candidate), candidate.op());
  if (entries.empty()) return candidate;
  ++visits_;
  u64 sources = 0;
  for (UOp src : candidate.srcs()) {
    sources |= RuleSet::source_bit(src.op());
    if (src.is(Op::Splat) && src.src(0).is(Op::Const)) sources |= RuleSet::source_bit(Op::Const);
  }
  for (const RuleSet::Entry& entry : entries) {
    if ((entry.needs & sources) != entry.needs) continue;
    UOp result = Matcher(*entry.rule, candidate, *this).apply();
    if (!result || result == candidate) continue;
    DCHECK(result.dtype() == candidate.dtype());
    ++firings_;
    if (trace_) trace_(trace_context_, *entry.rule, candidate, result);
    return result;
  }
  return candidate;
}

Rewriter::Marks& Rewriter::open_marks() {
  if (open_marks_ == marks_.size()) marks_.push_back(std::make_unique<Marks>());
  Marks& marks = *marks_[open_marks_++];
  ++marks.generation;
  if (marks.entries.size() < arena_.node_count()) {
    marks.entries.resize(std::max<usize>(arena_.node_count(), marks.entries.size() * 2));
  }
  return marks;
}

UOp Rewriter::substitute(UOp root, std::span<const std::pair<UOp, UOp>> replacements) {
  Marks& marks = open_marks();
  u32 least = UINT32_MAX;
  for (const auto& [from, to] : replacements) {
    marks.entries[from.id()] = {marks.generation, to.node()};
    least = std::min(least, from.id());
  }
  auto done = [&](UOp uop) -> const Node* {
    const Marks::Entry& entry = marks.entries[uop.id()];
    if (entry.generation == marks.generation) return entry.result;
    // Sources have lower ids than their users, so an early node holds nothing to replace.
    bool untouched = uop.id() < least && (uop.node()->flags & Node::kCanonical);
    return untouched ? uop.node() : nullptr;
  };
  struct Frame {
    UOp uop;
    usize next;
  };
  std::vector<Frame> stack;
  if (!done(root)) stack.push_back({root, 0});
  std::vector<UOp> srcs;
  while (!stack.empty()) {
    Frame& top = stack.back();
    UOp uop = top.uop;
    if (top.next < uop.nsrc()) {
      UOp src = uop.src(top.next++);
      if (!done(src)) stack.push_back({src, 0});
      continue;
    }
    srcs.clear();
    bool changed = false;
    for (UOp src : uop.srcs()) {
      srcs.push_back(UOp(done(src)));
      changed |= srcs.back() != src;
    }
    stack.pop_back();
    UOp result = changed ? with_srcs(uop, srcs) : simplified(uop);
    marks.entries[uop.id()] = {marks.generation, result.node()};
  }
  UOp result(done(root));
  close_marks();
  return result;
}

std::string explain(const Rule& rule, UOp node, Rewriter& rewriter) {
  return Matcher(rule, node, rewriter).explain();
}

}  // namespace doorbell::core
