// KernelBuilder: the value that one kernel stores, as an expression over the kernel's Ranges. It
// sweeps the kernel's part of the graph once more, with the decisions made: first consumers hand
// index tuples to producers, then values are built from sources to users. All kernels of a schedule
// are built in one arena with slots and Ranges numbered from 0, so kernels of one structure are one
// expression. fuse.h decides which values are stored.
#pragma once

#include <vector>

#include "core/rewrite/rewriter.h"
#include "core/schedule/lazy_graph.h"
#include "core/schedule/moves.h"
#include "core/schedule/schedule.h"
#include "core/schedule/sweep.h"

namespace doorbell::core {

// Where a value is: row-major in a buffer of the schedule, without the axes whose bit in `live` is
// clear, along which it does not vary.
struct Storage {
  u32 buffer = ~u32{0};
  u32 live = ~u32{0};
  i64 count = 0;  // elements
  bool exists() const { return buffer != ~u32{0}; }
};

struct BuiltValue {
  bool fits = false;  // within the options' limits; otherwise the other members are not set
  UOp value;
  u32 tuple = 0;                // how the stored element is indexed
  std::vector<u32> buffers;     // read, by Param slot from 1 on; slot 0 is the output
  std::vector<LazyId> inlined;  // candidates that are computed again here
};

class KernelBuilder {
 public:
  KernelBuilder(Arena& arena, Rewriter& rewriter, LazyGraph& graph, Moves& moves,
                const ScheduleOptions& options)
      : arena_(arena), rewriter_(rewriter), graph_(graph), moves_(moves), options_(options) {}

  // Both by node: where the value is stored, and whether it must be or may be.
  BuiltValue build(LazyId root, std::span<const Storage> storage, std::span<const Stored> stored);

 private:
  // A node as some of its consumers read it; most nodes have one of these in a kernel.
  struct Entry {
    u32 tuple;
    u32 next;   // of the same node, or kNoEntry
    UOp valid;  // where a reader needs it; null: everywhere
    u32 in_tuple = 0;
    UOp in_valid;          // where the sources are needed
    UOp step_valid;        // Pad: where there is an element
    i64 first_range = -1;  // Reduce
    UOp value;
  };
  static constexpr u32 kNoEntry = ~u32{0};
  struct Frame {
    LazyId node;
    usize next;
  };

  bool stops(LazyId id) const { return graph_.is_leaf(id) || storage_[id].exists(); }
  bool collect(LazyId root);
  // The entry that serves a reader; kNoEntry if there is none yet.
  u32 find(LazyId id, u32 tuple, UOp valid) const;
  bool is_shareable(u32 tuple, UOp valid) const;
  void demand(LazyId id, u32 tuple, UOp valid);
  void hand_down(LazyId id, Entry& entry);
  u32 source_tuple(LazyId id, const Entry& entry, LazyId source);
  UOp value_at(LazyId id, u32 tuple, UOp valid) const;
  UOp compute(LazyId id, const Entry& entry);
  UOp load(LazyId id, const Entry& entry);
  UOp reduce(LazyId id, const Entry& entry);
  UOp pad(const Entry& entry, UOp value);
  UOp param(const Storage& storage, DType dtype);

  Arena& arena_;
  Rewriter& rewriter_;
  LazyGraph& graph_;
  Moves& moves_;
  const ScheduleOptions& options_;

  // For the current kernel.
  std::span<const Storage> storage_;
  std::span<const Stored> stored_;
  LazyId root_ = kNoNode;
  BuiltValue* result_ = nullptr;
  i64 next_range_ = 0;
  u64 reduce_mask_ = 0;  // of the Ranges that are not the output's
  u32 epoch_ = 0;
  std::vector<u32> seen_;         // by node: the epoch that visited it last
  std::vector<u32> first_entry_;  // by node; meaningful once seen
  std::vector<LazyId> order_;     // sources first
  std::vector<Entry> entries_;
  std::vector<Frame> stack_;
  struct Slot {
    u32 epoch = 0, slot = 0;
  };
  std::vector<Slot> slots_;  // by buffer
};

}  // namespace doorbell::core
