// From the tensor graph to a LazyGraph: numbers the nodes, turns sizes into expressions of the
// schedule's arena, and says what must be in memory. Makes no nodes for Detach, moves that change
// nothing, reductions over nothing, copies to where the value is, and values without elements.
// sweep.h decides which other values are stored.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <optional>
#include <span>

#include "core/rewrite/rewriter.h"
#include "core/schedule/graph_key.h"
#include "core/schedule/kernel_builder.h"
#include "core/schedule/lazy_graph.h"
#include "core/schedule/moves.h"
#include "core/schedule/schedule.h"

namespace doorbell::core {

class Importer {
 public:
  Importer(Arena& arena, Rewriter& rewriter, Moves& moves, LazyGraph& graph,
           const ScheduleOptions& options)
      : arena_(arena),
        rewriter_(rewriter),
        moves_(moves),
        graph_(graph),
        options_(options),
        probe_(arena, rewriter, graph, moves, probe_options_) {}

  // `key` is the walk from `roots`, with its order. Inputs are numbered as in the key.
  void run(const GraphKey& key, std::span<const UOp> roots);

 private:
  struct Place {
    LazyId id = kNoNode;
    UOp expr;  // of a scalar without data, usable in sizes; its id is made when it is used as data
  };
  Place& place_of(UOp node) { return places_[places_by_node_.at(node.node())]; }
  LazyId data(Place& place, UOp node);
  LazyId data(UOp node) { return data(place_of(node), node); }
  UOp size(Dim dim);
  UOp size_arg(UOp node, i64 arg);

  LazyId import_node(UOp node);
  UOp import_expr(UOp node);
  LazyId import_move(UOp node, LazyId src);
  LazyId import_reduce(UOp node, LazyId src);
  LazyId on_device(LazyId src, u16 device);
  LazyId placed_on(LazyId src, u16 device);
  LazyId import_exchange(UOp node);
  LazyId import_root(LazyId id, u16 device);

  u32 shape_of(UOp node);
  LazyId add(Op op, DType dtype, u16 device, u32 shape, std::initializer_list<LazyId> srcs);
  LazyId add_const(UOp value, u32 shape);
  LazyId add_reduce(LazyId src, Op op, u32 axes);
  LazyId add_reshape(LazyId src, u32 shape);
  // The node behind reshapes whose memory is also that of `id`; forced unless it is a leaf.
  LazyId force(LazyId id);
  bool is_empty(u32 shape) const;

  // A long reduction to few elements uses few of the machine's cores: reduces to up to 256 partial
  // results per element first. Returns kNoNode where that does not pay.
  LazyId split_reduce(LazyId src, Op op, u32 axes);
  // The same of a product of matrices, by ScheduleOptions::depth_parts.
  LazyId split_product(LazyId src, Op op, u32 axes);
  std::optional<ProductShape> product_of(LazyId src, u32 axes);
  // Reduces parts of an axis, then those; they are the first or the last axis of the partial
  // results.
  LazyId reduce_parts(LazyId src, Op op, u32 axes, usize axis, i64 parts, bool first);
  // The axes that the memory which `id` is a view of differs along: all, and those that move along
  // its last axis.
  struct DataAxes {
    u64 all = 0, last = 0;
  };
  DataAxes axes_with_data(LazyId id);
  bool needs_loop(LazyId src, Op op, u32 axes);

  Arena& arena_;
  Rewriter& rewriter_;
  Moves& moves_;
  LazyGraph& graph_;
  const ScheduleOptions& options_;
  ScheduleOptions probe_options_{.max_ops = 64};  // only what is near a reduction decides
  KernelBuilder probe_;
  std::vector<Storage> probe_storage_;  // by node: Buffers and forced values count as memory
  std::vector<Stored> probe_stored_;    // nothing is
  std::vector<Place> places_;
  absl::flat_hash_map<const Node*, u32> places_by_node_;  // looked up, never iterated
};

// The value that a reduction starts from.
UOp reduce_identity(Arena& arena, Op op, DType dtype);

}  // namespace doorbell::core
