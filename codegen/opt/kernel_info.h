// Facts about a kernel for the optimiser: its ranges, its memory accesses with their strides, its
// reductions, and how much arithmetic sits at each loop depth. Read-only: for
// choosing a plan see heuristic.h, for applying it apply.h.
#pragma once

#include <vector>

#include "codegen/lower/affine.h"
#include "core/uop/arena.h"

namespace doorbell::codegen {

struct RangeInfo {
  core::UOp range;
  i64 size = 0;  // 0 where symbolic
  bool reduce = false;
};

struct Access {
  core::UOp index;   // the Index node
  core::UOp memory;  // its Param
  bool store = false;
  Affine affine;
  u64 mask = 0;  // ranges that the address or gate varies with
  u64 gate_mask = 0;
  i64 bytes = 4;  // of one element
};

// Arithmetic nodes of one loop depth and one set of ranges, counted together.
struct Work {
  u64 mask;
  f64 ops;
};

struct ReduceInfo {
  core::UOp reduce;
  u64 closed = 0;  // its ranges
  u64 mask = 0;    // ranges of its value, including closed ones
  f64 trips = 1;   // executions of its body
};

struct KernelInfo {
  std::vector<core::UOp> order;   // topological
  std::vector<RangeInfo> ranges;  // by range id
  std::vector<Access> accesses;
  std::vector<Work> work;
  std::vector<ReduceInfo> reduces;  // topological
  u64 output_mask = 0;              // ranges of the Ends
  f64 flops = 0;                    // total arithmetic
  f64 bytes = 0;                    // memory touched at least once

  i64 size(i64 id) const { return ranges[static_cast<usize>(id)].size; }
  // The reduction with the most work, or null.
  const ReduceInfo* main_reduce() const;
};

// Needs: a kernel graph in AST form, range ids dense and below 64.
KernelInfo analyse(core::Arena& arena, core::UOp sink);

// The relative cost of one scalar operation.
f64 weight(core::UOp operation);

}  // namespace doorbell::codegen
