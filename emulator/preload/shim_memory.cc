// munmap: GPUs may have been told of the memory (userptr), and must not see it any more.
#include <sys/mman.h>

#include "emulator/preload/shim.h"

namespace doorbell::preload {

extern "C" {

int shim_munmap(void* start, size_t bytes) DOORBELL_STANDS_FOR(munmap);

// Before it is gone, as the kernel's notifier comes. [amdgpu_mn_invalidate_hsa()]
int shim_munmap(void* start, size_t bytes) {
  const DoorbellEmulatorDoor* door = opened_emulator();
  if (door) door->unmapped(start, bytes);
  return real<int(void*, size_t)>("munmap")(start, bytes);
}

}  // extern "C"

}  // namespace doorbell::preload
