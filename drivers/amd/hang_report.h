// What a queue that stands still is doing, for messages: how far it has read, and the first wait
// from there on that is not over. See wave_report.h for its waves.
#pragma once

#include <string>

#include "drivers/amd/hw/generation.h"
#include "drivers/amd/kernel/kfd_queue.h"

namespace doorbell::amd {

// "; of its ring 0x80 is read, 0xa0 written; it waits until 0x2000 is 5, and that is 0"
std::string describe_hang(const KfdQueue& queue, const Kfd& kfd, hw::Generation generation);

}  // namespace doorbell::amd
