// A mutant's trial: runs under several seeds, in a process of its own.
#pragma once

#include <functional>

#include "base/util/types.h"
#include "tests/emulator/mutation/score.h"

namespace doorbell::testing {

enum class End : u8 { Clean, Caught, Absent };

// Whether a run that is not clean is among those under seeds 0 to `seeds`, 0 and 1 for a mutant
// that is listed as a survivor. `run` runs it; 0 is a GPU that is not adversarial. That a mutant is
// nowhere in the run fails the test.
bool is_caught(const MutantName& mutant, bool listed, u64 seeds,
               const std::function<End(u64 seed)>& run);

}  // namespace doorbell::testing
