// Which algorithm Open MPI takes for a non-blocking sum over all processes. Left alone it takes a
// binomial tree for two or three processes and for less than 64 KiB, which moves the data twice as
// often as its blocking sum does. The variable can be set through MPI's own interface to tools; a
// value that the user has set stays, and another implementation has no such variable.
//   [nbc_iallreduce.c of Open MPI, "algorithm selection": 1 ring, 2 binomial, 3 Rabenseifner,
//    4 recursive doubling; github.com/open-mpi/ompi/blob/0da975f6620af8808e8afe31ff0bfe2a0fbd8c0f/
//    ompi/mca/coll/libnbc/nbc_iallreduce.c; MPI 3.1 standard, section 14.3.6]
//
// Thread safety: one call at a time.
#pragma once

#include "base/util/types.h"

namespace doorbell::mpi {

// To be called once, after MPI has started.
void find_allreduce_choice();
// Before each sum.
void choose_allreduce(i64 bytes);

}  // namespace doorbell::mpi
