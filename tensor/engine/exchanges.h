// What several processes mean for a plan: a schedule is of all of them, and each keeps its own
// work; what moves between them is in memory that the host sees, and is run by the Communicator's
// device.
#pragma once

#include "core/schedule/kernel.h"
#include "tensor/engine/kernel_cache.h"

namespace doorbell::engine {

// Whether a node's device is another process's.
bool is_of_others(u16 device);
// Joins sums to buckets, and drops items in which no device of this process takes part. Memory that
// the Communicator does not take goes through the host's on its way. Before memory is planned.
void keep_own_work(core::Schedule* schedule);
// What runs an exchange; every process of the group has one like it. Made once, so that plans of
// equal work are equal. Throws Error.
KernelRef load_exchange(const core::ScheduleItem& item, const core::Schedule& schedule);

}  // namespace doorbell::engine
