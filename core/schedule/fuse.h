// Fusion: goes over the values that may be stored, producers first, builds the kernel of each, and
// keeps it or has its consumers compute the value again. Computing again is allowed while no kernel
// does more than twice the work that it and what it took over would do apart, reads of few buffers
// are involved, and no reduction of memory is repeated. For the kernel of one value see
// kernel_builder.h.
#pragma once

#include <vector>

#include "core/schedule/kernel.h"
#include "core/schedule/kernel_builder.h"
#include "core/schedule/planned_kernel.h"
#include "core/schedule/sweep.h"

namespace doorbell::core {

class Fuser {
 public:
  Fuser(Arena& arena, Rewriter& rewriter, LazyGraph& graph, Moves& moves, Sweep& sweep,
        const ScheduleOptions& options)
      : arena_(arena),
        graph_(graph),
        moves_(moves),
        sweep_(sweep),
        options_(options),
        builder_(arena, rewriter, graph, moves, options),
        storage_(graph.size()),
        unfused_(sweep.work) {}

  // Afterwards kernels() has the kernels to run, in order; the schedule has no items yet.
  Schedule run();
  std::vector<PlannedKernel>& kernels() { return kernels_; }

 private:
  // The cost of computing one element of a value.
  struct Cost {
    f64 work = 0;
    usize buffers = 0, loads = 0;
    bool reduces_memory = false;
  };

  void place_inputs();
  void decide(LazyId id);
  void copy(LazyId id);
  void fold(LazyId id, UOp value);
  bool is_alias(LazyId id, const BuiltValue& built);
  Cost cost_of(UOp value, usize buffers);
  bool is_cheap(LazyId id, const Cost& cost);
  void keep(LazyId id);
  void emit(LazyId id, const BuiltValue& built);
  u32 add_buffer(LazyId id, i64 count);
  u16 device_of(LazyId id) const;

  Arena& arena_;
  LazyGraph& graph_;
  Moves& moves_;
  Sweep& sweep_;
  const ScheduleOptions& options_;
  KernelBuilder builder_;
  std::vector<Storage> storage_;  // by node
  std::vector<f64> unfused_;      // by stored node: work without computing anything twice

  std::vector<PlannedKernel> kernels_;
  Schedule schedule_;
};

}  // namespace doorbell::core
