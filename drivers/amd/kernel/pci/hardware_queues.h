// Queues put on the hardware by their registers: a compute queue by its descriptor (MQD), the copy
// engine's by its own.
#pragma once

#include "drivers/amd/kernel/pci/boot.h"
#include "drivers/amd/kernel/pci/pci_gpu.h"

namespace doorbell::amd {

// Queue `queue` of the first pipe: of AQL packets on all XCCs, which share its grids, of PM4 on the
// first.
void load_compute_queue(const BootTarget& target, u32 queue, u32 doorbell,
                        const PciQueueMemory& memory);
// Its waves are ended. Fails where the hardware does not let go of it.
Result<void> unload_compute_queue(const RegisterAccess& registers, u32 queue);

void load_copy_queue(const BootTarget& target, u32 doorbell, const PciQueueMemory& memory);
void unload_copy_queue(const RegisterAccess& registers);

}  // namespace doorbell::amd
