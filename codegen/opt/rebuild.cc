// Bottom-up rebuilding with a dense map by node id.
#include "codegen/opt/rebuild.h"

#include <bit>

#include "core/eval/eval.h"
#include "core/uop/arena.h"

namespace doorbell::codegen {

using core::Op;
using core::UOp;

void Rebuilder::set(i64 range_id, RangeImage image) {
  usize id = static_cast<usize>(range_id);
  if (images_.size() <= id) images_.resize(id + 1);
  images_[id] = std::move(image);
}

UOp& Rebuilder::slot(UOp node) {
  if (map_.size() <= node.id()) map_.resize(node.id() + 64);
  return map_[node.id()];
}

void Rebuilder::replace(UOp from, UOp to) { slot(from) = to; }

// The gates of all padded ranges in a mask, or null.
UOp Rebuilder::gate_of(u64 range_mask) {
  UOp gate;
  for (; range_mask; range_mask &= range_mask - 1) {
    usize id = static_cast<usize>(std::countr_zero(range_mask));
    if (id >= images_.size() || !images_[id].gate) continue;
    gate = gate ? rewriter_.land(gate, images_[id].gate) : images_[id].gate;
  }
  return gate;
}

UOp Rebuilder::rebuild_index(UOp node) {
  UOp memory = map_[node.src(0).id()], index = map_[node.src(1).id()];
  UOp old = node.nsrc() > 2 ? map_[node.src(2).id()] : UOp();
  UOp gate = gate_of(node.src(1).range_mask() | (old ? node.src(2).range_mask() : 0));
  if (gate && old) gate = rewriter_.land(gate, old);
  if (!gate) gate = old;
  if (!gate) return rewriter_.make(Op::Index, node.dtype(), {memory, index});
  return rewriter_.make(Op::Index, node.dtype(), {memory, index, gate});
}

UOp Rebuilder::rebuild(UOp node) {
  if (node.nsrc() == 0) return node;
  if (node.is(Op::Index)) return rebuild_index(node);
  absl::InlinedVector<UOp, 8> srcs;
  if (node.is(Op::Range)) {
    usize id = static_cast<usize>(node.range_id());
    if (id < images_.size() && images_[id].value) return images_[id].value;
    return node;
  }
  bool closes = node.is(Op::End) || node.is(Op::Reduce);
  for (UOp s : node.srcs()) {
    if (closes && s.is(Op::Range)) {
      usize id = static_cast<usize>(s.range_id());
      if (id < images_.size() && images_[id].value) {
        for (UOp r : images_[id].ranges) srcs.push_back(r);
      } else {
        srcs.push_back(s);
      }
      continue;
    }
    srcs.push_back(map_[s.id()]);
  }
  if (node.is(Op::Load) && node.nsrc() == 1 && srcs[0].is(Op::Index) && srcs[0].nsrc() > 2) {
    srcs.push_back(rewriter_.arena().const_of(node.dtype(), 0));  // it is gated now
  }
  if (node.is(Op::Reduce)) {
    u64 closed = 0;
    for (usize i = 1; i < node.nsrc(); ++i) closed |= u64{1} << node.src(i).range_id();
    if (UOp gate = gate_of(closed)) {
      core::ScalarValue identity = core::reduce_identity(node.reduce_op(), node.dtype());
      srcs[0] = rewriter_.where(gate, srcs[0], rewriter_.constant(node.dtype(), identity));
    }
  }
  return rewriter_.make(node.op(), node.dtype(), srcs, node.args());
}

UOp Rebuilder::operator()(UOp root) {
  if (UOp done = slot(root)) return done;
  struct Frame {
    UOp node;
    usize next;
  };
  std::vector<Frame> stack{{root, 0}};
  while (!stack.empty()) {
    Frame& top = stack.back();
    if (top.next < top.node.nsrc()) {
      UOp s = top.node.src(top.next++);
      if (!slot(s)) stack.push_back({s, 0});
      continue;
    }
    UOp node = top.node;
    stack.pop_back();
    UOp built = rebuild(node);  // may make nodes, but does not use their slots
    slot(node) = built;
  }
  return slot(root);
}

}  // namespace doorbell::codegen
