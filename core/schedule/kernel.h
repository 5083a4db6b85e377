// What scheduling hands to the code generator and the engine: kernels as small graphs of their own,
// and the order, buffers and copies of one realisation. For making it see schedule.h; codegen
// lowers kernels, the engine allocates memory and runs them.
#pragma once

#include <memory>
#include <vector>

#include "core/uop/arena.h"

namespace doorbell::core {

// One kernel. In its private arena:
//   Sink(End(Store(Index(Param, idx), value), ranges...))
// or, with several outputs, End(Group(Store...), ranges...).
// - Params are numbered from 0 in order of first use in a fixed walk; args {slot, element count}.
//   Stored ones come first. Element counts are maxima where a dim is symbolic.
// - idx is one flat, row-major Index expression over Ranges (axis type Loop), Variables and Consts.
// - Range ids are dense from 0, at most kMaxKernelRanges.
// - Reads are Load(Index(Param, idx)) or, where idx may be out of bounds,
//   Load(Index(Param, idx, gate), Const 0).
// - Reduce(value, ranges...; args {op, 0}) closes its Ranges (axis type Reduce).
// - Every other node is elementwise arithmetic, Cast or Bitcast. Equal kernels are equal graphs.
struct KernelAst {
  std::unique_ptr<Arena> arena;
  UOp sink;
  u64 key = 0;  // hash of the structure, stable across processes
  u32 param_count = 0;
  u32 output_count = 0;        // Params 0 .. output_count-1 are stored
  std::vector<i64> variables;  // name ids of the Variables read, in order of first use
};
inline constexpr int kMaxKernelRanges = 40;

// Structural equality, in full (a hash hit is not enough to share a kernel).
bool same_kernel(const KernelAst& a, const KernelAst& b);

// Memory that a schedule names. Inputs and outputs are bound per run; temporaries are planned.
struct ScheduleBuffer {
  enum class Kind : u8 { Input, Output, Temporary };
  Kind kind;
  u32 index;  // Input: in GraphKey::inputs; Output: which root; Temporary: unused
  DType dtype;
  i64 count;        // elements
  u16 device;       // the Registry's number, here and below
  i64 offset = -1;  // temporary: byte offset in the device's one allocation for this schedule
};

struct ScheduleItem {
  enum class Kind : u8 { Kernel, Copy };
  Kind kind;
  u16 device;                            // where it runs (Copy: the destination)
  std::shared_ptr<const KernelAst> ast;  // Kernel; equal kernels share one
  std::vector<u32> buffers;              // by Param slot; Copy: {destination, source}
};

// The recipe for one graph shape, reusable with other inputs.
struct Schedule {
  std::vector<ScheduleBuffer> buffers;
  std::vector<ScheduleItem> items;   // an order that respects every dependency
  std::vector<u32> results;          // by root: the buffer that then holds its value; an Input
                                     // where it was assigned in place
  std::vector<i64> temporary_bytes;  // by device index: size of the planned allocation
};

}  // namespace doorbell::core
