// Scheduling: a tensor graph becomes kernels and copies in an order that respects every dependency.
// Ranges flow from consumers to producers; values that must be stored are stored; the rest is fused
// while the estimated work stays within bounds. For memory of temporaries see memory_plan.h, for
// finding a finished schedule again graph_key.h. The engine runs schedules.
#pragma once

#include <functional>
#include <limits>
#include <span>

#include "core/schedule/graph_key.h"
#include "core/schedule/kernel.h"
#include "core/uop/uop.h"

namespace doorbell::core {

// Sums over `depth` of x[batch, row, k] * y[batch, k, column].
struct ProductShape {
  DType operand, sum;
  i64 batches = 1, rows = 1, columns = 1, depth = 1;
  // Contiguous along the depth: x, y.
  bool rows_by_depth = false, columns_by_depth = false;
};

struct ScheduleOptions {
  u32 max_buffers = 31;         // Params of one kernel
  u32 max_ops = 2000;           // tensor-graph nodes fused into one kernel, at most
  u32 max_inline_buffers = 3;   // a value made from more than these is not computed twice
  u16 default_device = 0;       // number of the device for values that no Buffer or Copy places
  f64 max_nested_work = 65536;  // of a reduction inside another's loop, in additions
  bool split_reduce = true;     // a long reduction to few elements is done in two kernels
  // Those elements are fewer than this: from here on they keep a target busy by themselves.
  i64 split_below = std::numeric_limits<i64>::max();
  // Into how many parts the depth of a product is split, which another kernel adds; null: none.
  std::function<i64(const ProductShape&)> depth_parts;
  // The code generator computes what does not vary with the inner output axes before their loops (a
  // CPU), or once for a work group that has the row (a GPU): softmax and its like are then one
  // kernel. Not for targets that spread all output axes over parallel work items.
  bool fuse_rows = false;
  bool merge_kernels = true;  // kernels over the same memory become one
};

// Root i of `roots` is in buffer results[i] afterwards, an Output (of one of the roots, where
// several are one value); inputs are numbered as GraphKey numbers them. No temporary has memory
// yet. A kernel never reads memory that it writes.
Schedule make_schedule(std::span<const UOp> roots, const ScheduleOptions& options = {});
// The same, when the caller has walked the roots `with_order` already.
Schedule make_schedule(const GraphKey& key, std::span<const UOp> roots,
                       const ScheduleOptions& options = {});

}  // namespace doorbell::core
