// The processes of a run under mpirun, one device each. All of them run the cases of the group
// `distributed` together, or none does: what one lacks, or finds wrong, is all's.
#pragma once

#include <string>
#include <vector>

#include "tensor/dist/dist.h"

namespace doorbell::conformance {

// Whether the case, or batch, is one for all processes together: "distributed/...".
bool is_distributed(const std::string& case_name);

// Over all processes; each calls it at the same point. `own` where there is one process.
i64 sum_over_processes(i64 own);
inline bool any_process(bool own) { return sum_over_processes(own ? 1 : 0) > 0; }

// The device under test of each process, in order of ranks: "AMD@0,CPU@1". Asks the others once.
const Devices& devices_of_processes(const std::string& own);

}  // namespace doorbell::conformance
