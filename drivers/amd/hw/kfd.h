// The KFD interface, /dev/kfd, whole. What an ioctl does is up to the kernel and the emulator.
#pragma once

#include "drivers/amd/hw/kfd/event.h"
#include "drivers/amd/hw/kfd/memory.h"
#include "drivers/amd/hw/kfd/process.h"
#include "drivers/amd/hw/kfd/queue.h"

namespace doorbell::amd::hw {

// Calls f with a default value of every argument structure of an ioctl.
template <class F>
void for_each_kfd_ioctl(F f) {
  f(KfdGetVersion{});
  f(KfdCreateQueue{});
  f(KfdDestroyQueue{});
  f(KfdSetMemoryPolicy{});
  f(KfdGetClockCounters{});
  f(KfdGetProcessApertures{});
  f(KfdUpdateQueue{});
  f(KfdCreateEvent{});
  f(KfdDestroyEvent{});
  f(KfdSetEvent{});
  f(KfdResetEvent{});
  f(KfdWaitEvents{});
  f(KfdSetScratchBackingVa{});
  f(KfdGetTileConfig{});
  f(KfdSetTrapHandler{});
  f(KfdGetProcessAperturesNew{});
  f(KfdAcquireVm{});
  f(KfdAllocMemory{});
  f(KfdFreeMemory{});
  f(KfdMapMemory{});
  f(KfdUnmapMemory{});
  f(KfdSetCuMask{});
  f(KfdGetQueueWaveState{});
  f(KfdGetDmabufInfo{});
  f(KfdImportDmabuf{});
  f(KfdAllocQueueGws{});
  f(KfdSmiEvents{});
  f(KfdSetXnackMode{});
  f(KfdAvailableMemory{});
  f(KfdExportDmabuf{});
  f(KfdRuntimeEnable{});
}

}  // namespace doorbell::amd::hw
