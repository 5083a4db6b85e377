// Calls that are measured in turn, in all processes: what disturbs the machine disturbs all.
#pragma once

#include <functional>
#include <vector>

#include "base/util/types.h"
#include "drivers/mpi/module/mpi_api.h"
#include "tools/measure/table.h"

namespace doorbell::tools {

// MPI's own blocking call on all processes, without a deadline.
void plain_mpi(mpi::Plain what, const void* from, void* to, i64 bytes);

// Each is called once, then the next, and so on, each behind a barrier. Every process makes as many
// rounds, so that they end at once. Median microseconds of each.
std::vector<f64> in_turn(const std::vector<std::function<void()>>& calls, usize rounds);

// A step of data-parallel training in short: products of matrices, and sums over the processes of
// results, each as soon as it is there. Columns: what, compute us, exchange us, step us, hidden %.
Table measure_step(usize rounds);

}  // namespace doorbell::tools
