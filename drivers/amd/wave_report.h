// Where the waves of a compute queue stand, for messages: counted by their next instruction, which
// is named by kernel and offset. See kernel/kfd_queue.h for reading what was saved.
#pragma once

#include <string>

#include "drivers/amd/code_heap.h"
#include "drivers/amd/kernel/kfd_queue.h"

namespace doorbell::amd {

// Of a queue that stands still. "; 3 waves: 2 at r_16+0x40 (0x2000000340), exec 0xffffffff, group
// 0,0,0; 1 at ..."
std::string describe_waves(KfdQueue& queue, const CodeHeap& code, hw::Generation generation,
                           bool has_groups);
// The same of one that runs: it stands still meanwhile.
std::string describe_running_waves(KfdQueue& queue, const CodeHeap& code, hw::Generation generation,
                                   bool has_groups);

}  // namespace doorbell::amd
