// The cut: kernels that the sweep made larger than a backend takes, in ops or in buffers, are cut
// into several by storing values inside them. Linear in the size of the graph.
#pragma once

#include "core/schedule/schedule.h"
#include "core/schedule/sweep.h"

namespace doorbell::core {

void cut_large_kernels(const LazyGraph& graph, const ScheduleOptions& options, Sweep* sweep);

}  // namespace doorbell::core
