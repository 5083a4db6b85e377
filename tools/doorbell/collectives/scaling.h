// What sums over more processes than there are would take: a model, not a measurement.
//
// Of n bytes over p processes, with one latency and one bandwidth for all pairs:
//   up to 64 KiB   recursive doubling: lg p (latency + n / bandwidth)
//   above          Rabenseifner's, 2 lg p latency + 2 (p - 1) / p n / bandwidth
// lg p is rounded up. The additions are part of the bandwidth. [MPICH, the comment on
// MPI_Allreduce's default implementation in src/mpi/coll/allreduce.c, alpha and beta; which of them
// Open MPI is asked for: drivers/mpi/module/allreduce_choice.h]
#pragma once

#include "base/util/types.h"

namespace doorbell::tools {

struct Network {
  f64 latency_us = 0, bytes_per_us = 0;
};

inline constexpr i64 kDoublingBytes = 64 << 10;

// 0 for one process.
f64 modelled_sum_us(const Network& network, i64 bytes, i64 processes);

// From how long sums of `few` bytes (up to kDoublingBytes) and of `many` bytes (more) take among
// `processes`, two at least. Of what `many` take, the latency is at most half.
Network network_of(i64 processes, i64 few, f64 few_us, i64 many, f64 many_us);

}  // namespace doorbell::tools
