// LazyGraph: the unrealised part of a tensor graph as the scheduler works on it. Nodes are numbered
// densely, sources before users, so every analysis is a vector and every pass a loop; shapes are
// interned. import.h fills it from the tensor graph.
#pragma once

#include <span>
#include <vector>

#include "core/schedule/tuples.h"
#include "core/uop/uop.h"

namespace doorbell::core {

using LazyId = u32;
inline constexpr LazyId kNoNode = ~u32{0};

// The ops are those of a tensor graph; of its leaves and Graph ops, these remain:
//   Const       `value`, an expression without Ranges, whatever the index (a Variable, say)
//   Buffer      input number `input` of the graph
//   Contiguous  the source, stored
//   Copy        the source, which is stored, on another device
//               (or an exchange of it with other processes, whose args are in numbers)
//   Reduce      its axis mask is in numbers
struct LazyNode {
  Op op = Op::Const;
  u8 rank = 0;
  bool forced = false;   // the value must be in memory, and no rule may change that
  bool exposed = false;  // its memory is seen whole: an output, or the source of a Copy
  bool is_exchange = false;
  u16 device = 0;  // index + 1, or 0 where none is fixed
  u16 nsrc = 0;
  DType dtype;
  u32 shape = 0;      // a tuple of sizes
  u32 first_src = 0;  // in LazyGraph::srcs
  u32 first_arg = 0;  // Pad, Shrink: in offsets. Others: in numbers
  Op reduce_op = Op::Add;
  i32 input = -1;
  i32 output = -1;  // the root that this node is
  UOp value;
};

struct LazyGraph {
  std::vector<LazyNode> nodes;
  std::vector<LazyId> srcs;
  std::vector<UOp> offsets;  // elements before (Pad) or skipped (Shrink), per axis
  std::vector<i64> numbers;
  std::vector<LazyId> roots;  // by root number; several roots may be one node
  Tuples tuples;

  LazyId size() const { return static_cast<LazyId>(nodes.size()); }
  const LazyNode& operator[](LazyId id) const { return nodes[id]; }
  std::span<const LazyId> sources(LazyId id) const {
    return {srcs.data() + nodes[id].first_src, nodes[id].nsrc};
  }
  LazyId src(LazyId id, usize i = 0) const { return srcs[nodes[id].first_src + i]; }
  std::span<const UOp> shape(LazyId id) const { return tuples[nodes[id].shape]; }
  i64 number(LazyId id, usize i) const { return numbers[nodes[id].first_arg + i]; }
  UOp offset(LazyId id, usize i) const { return offsets[nodes[id].first_arg + i]; }
  bool is_leaf(LazyId id) const { return nodes[id].op == Op::Const || nodes[id].op == Op::Buffer; }
  // The most elements that the value can have.
  i64 max_count(LazyId id) const;
};

inline i64 LazyGraph::max_count(LazyId id) const {
  i64 count = 1;
  for (UOp size : shape(id)) count *= size.vmax();
  return count;
}

}  // namespace doorbell::core
