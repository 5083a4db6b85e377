// Functions that read a descriptor: where the process's pages lie on the bus of an emulated machine
// is computed when it is read.
#include <unistd.h>

#include "emulator/preload/shim.h"

namespace doorbell::preload {
namespace {

// Others cost nothing.
bool is_page_map(int descriptor) {
  if (!has_page_map()) return false;
  const DoorbellEmulatorDoor* door = opened_emulator();
  return door && door->node_of(descriptor) == kDoorbellPageMap;
}

ssize_t read_page_map(void* into, size_t bytes, off_t offset) {
  return static_cast<ssize_t>(
      opened_emulator()->read(kDoorbellPageMap, into, bytes, static_cast<unsigned long>(offset)));
}

}  // namespace

extern "C" {

ssize_t shim_read(int descriptor, void* into, size_t bytes) DOORBELL_STANDS_FOR(read);
ssize_t shim_pread(int descriptor, void* into, size_t bytes, off_t offset)
    DOORBELL_STANDS_FOR(pread);
ssize_t shim_pread64(int descriptor, void* into, size_t bytes, off_t offset)
    DOORBELL_STANDS_FOR(pread64);

ssize_t shim_read(int descriptor, void* into, size_t bytes) {
  if (!is_page_map(descriptor))
    return real<ssize_t(int, void*, size_t)>("read")(descriptor, into, bytes);
  // The file has a place, if nothing else.
  const ssize_t done = read_page_map(into, bytes, lseek(descriptor, 0, SEEK_CUR));
  lseek(descriptor, done, SEEK_CUR);
  return done;
}
ssize_t shim_pread(int descriptor, void* into, size_t bytes, off_t offset) {
  if (is_page_map(descriptor)) return read_page_map(into, bytes, offset);
  return real<ssize_t(int, void*, size_t, off_t)>("pread")(descriptor, into, bytes, offset);
}
// Offsets have 64 bits in both versions.
ssize_t shim_pread64(int descriptor, void* into, size_t bytes, off_t offset) {
  return shim_pread(descriptor, into, bytes, offset);
}

}  // extern "C"

}  // namespace doorbell::preload
