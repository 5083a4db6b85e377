// What a queue that stands still is doing, for messages: how far it has read, and where its waves
// are, by the kernels whose code they run.
#pragma once

#include <string>

#include "drivers/amd/code_heap.h"
#include "drivers/amd/kernel/kfd_queue.h"

namespace doorbell::amd {

// "; read up to 128 of 160 written; 4 waves at kernel r_16 +0x40 ..." The queue is taken off the
// hardware for that, and stays so.
std::string describe_hang(KfdQueue& queue, const CodeHeap& code);

}  // namespace doorbell::amd
