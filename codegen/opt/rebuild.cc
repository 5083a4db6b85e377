// Bottom-up rebuilding with a dense map by node id.
#include "codegen/opt/rebuild.h"

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

UOp Rebuilder::rebuild(UOp node) {
  if (node.nsrc() == 0) return node;
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
    UOp built = rebuild(node);  // may make nodes, never asks for a slot of theirs
    slot(node) = built;
  }
  return slot(root);
}

}  // namespace doorbell::codegen
