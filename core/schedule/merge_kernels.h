// Merging: kernels over the same Ranges that read one another, or the same memory, become one
// kernel with several outputs (an optimiser's moments and weights; the sums that a norm's gradients
// need), and so do small ones over any memory. What only the merged kernel would read is not stored
// at all. Elementwise kernels merge, and reductions that read each element once. Contractions,
// which read elements again and again, have plans of their own; they take in what is made of their
// results, and nothing else.
#pragma once

#include "core/rewrite/rewriter.h"
#include "core/schedule/planned_kernel.h"
#include "core/schedule/schedule.h"

namespace doorbell::core {

// `kernels` are in an order that respects every dependency, and stay so.
void merge_kernels(Rewriter& rewriter, const Schedule& schedule, const ScheduleOptions& options,
                   std::vector<PlannedKernel>* kernels);

}  // namespace doorbell::core
