// A kernel that fusion decided on, before it is a graph of its own: what it stores, for which
// Ranges, and what it reads. merge_kernels.h may still put several into one; finish_kernel.h makes
// the graphs.
#pragma once

#include <vector>

#include "core/schedule/kernel.h"

namespace doorbell::core {

struct PlannedStore {
  u32 buffer;  // of the schedule
  UOp at;      // flat index
  UOp value;   // its Params have slots from 1 on: places in PlannedKernel::reads, less one
};

struct PlannedKernel {
  ScheduleItem::Kind kind = ScheduleItem::Kind::Kernel;
  u16 device = 0;
  std::vector<UOp> ranges;           // of the End, for all stores
  std::vector<PlannedStore> stores;  // empty: merged into another. A Copy has one, without a value
  std::vector<u32> reads;            // buffers
  std::shared_ptr<const KernelAst> exchange = {};  // of a Copy: see exchange.h
};

// Turns planned kernels into items; equal ones share a graph. Slots of stores are 0, -1, -2, ...
void finish_kernels(Arena& arena, std::span<const PlannedKernel> kernels, Schedule* schedule);

}  // namespace doorbell::core
