// The other processes that a launcher of PMIx (Open MPI's mpirun, srun) started on this machine, by
// /proc: where MPI waits for them before it has started, it cannot say which are missing.
#pragma once

#include <string>

#include "base/os/environment.h"
#include "base/os/files.h"

namespace doorbell::runtime {

// "rank 1, which is dead, and rank 2, which is stopped"; empty where nothing is known to be wrong.
// Ranks of other machines are not seen; a dead one only if all are of this machine.
std::string missing_siblings(os::Files& files, const os::Environment& own);

}  // namespace doorbell::runtime
