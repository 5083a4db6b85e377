// mmap: the driver checks mappings of nodes; what is locked for bare GPUs is not locked for real,
// which takes a right. munmap: GPUs may use the memory (userptr), and must not access it any more.
#include <sys/mman.h>

#include <cerrno>

#include "emulator/preload/shim.h"

namespace doorbell::preload {

extern "C" {

void* shim_mmap(void* at, size_t bytes, int protection, int flags, int descriptor, off_t offset)
    DOORBELL_STANDS_FOR(mmap);
void* shim_mmap64(void* at, size_t bytes, int protection, int flags, int descriptor, off_t offset)
    DOORBELL_STANDS_FOR(mmap64);
int shim_munmap(void* start, size_t bytes) DOORBELL_STANDS_FOR(munmap);

void* shim_mmap(void* at, size_t bytes, int protection, int flags, int descriptor, off_t offset) {
  const DoorbellEmulatorDoor* door = descriptor < 0 ? nullptr : opened_emulator();
  const int why =
      door ? door->map(descriptor, bytes, protection, flags, static_cast<unsigned long>(offset))
           : 0;
  if ((flags & MAP_LOCKED) != 0 && is_bare()) flags &= ~MAP_LOCKED;
  if (why == 0)
    return real<void*(void*, size_t, int, int, int, off_t)>("mmap")(at, bytes, protection, flags,
                                                                    descriptor, offset);
  errno = why;
  return MAP_FAILED;
}

// Offsets have 64 bits in both versions.
void* shim_mmap64(void* at, size_t bytes, int protection, int flags, int descriptor, off_t offset) {
  return shim_mmap(at, bytes, protection, flags, descriptor, offset);
}

// Called before it is unmapped, as the kernel's notifier. [amdgpu_mn_invalidate_hsa()]
int shim_munmap(void* start, size_t bytes) {
  const DoorbellEmulatorDoor* door = opened_emulator();
  if (door) door->unmapped(start, bytes);
  return real<int(void*, size_t)>("munmap")(start, bytes);
}

}  // extern "C"

}  // namespace doorbell::preload
