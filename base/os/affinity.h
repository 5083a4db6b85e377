// Which of the machine's CPUs threads may run on.
#pragma once

#include <span>
#include <thread>
#include <vector>

#include "base/util/types.h"

namespace doorbell::os {

// The CPUs that the calling thread may run on, by number; empty where the system does not say.
std::vector<int> allowed_cpus();

// From now on `thread` runs on these only. A system that refuses, or has no such call, leaves it as
// it is.
void restrict_thread(std::thread& thread, std::span<const int> cpus);

// The CPU that the calling thread is on, which may change at any time; -1 where the system does not
// say.
int current_cpu();

}  // namespace doorbell::os
