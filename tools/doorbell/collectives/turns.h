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
// results, each as soon as it is there.
struct Step {
  i64 width, batch;  // of the products
  i64 sum_bytes() const { return width * width * 4; }
};
struct StepTimes {
  f64 compute_us, exchange_us, step_us;  // products alone, sums alone, both
};
inline constexpr i64 kStepLayers = 8;  // as many products of two matrices, and sums
inline constexpr Step kSteps[] = {{128, 256}, {256, 512}, {512, 512}};
StepTimes measure(const Step& step, usize rounds);

// Columns: what, compute us, exchange us, step us, hidden %.
Table measure_step(usize rounds);

// What kSteps would take on 1 to 1,024 processes, each with its own share of the work: a model
// (scaling.h), whose constants are measured between the processes that there are.
Table model_scaling(usize rounds);

}  // namespace doorbell::tools
