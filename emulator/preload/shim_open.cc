// Functions that open files, list folders and control devices.
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "emulator/preload/shim.h"

namespace doorbell::preload {
namespace {

int open_node(int node, int flags) {
  const DoorbellEmulatorDoor* door = emulator();
  if (!door) {
    errno = ENODEV;
    return -1;
  }
  if (node == kDoorbellPageMap) note_page_map();
  return door->open_node(node, flags);
}

int open_path(const char* name, const char* path, int flags, mode_t mode) {
  Path rewritten(path);
  if (rewritten.node() != -2) return open_node(rewritten.node(), flags);
  return real<int(const char*, int, mode_t)>(name)(rewritten.c_str(), flags, mode);
}

int open_at(const char* name, int folder, const char* path, int flags, mode_t mode) {
  Path rewritten(path);
  if (rewritten.node() != -2) return open_node(rewritten.node(), flags);
  return real<int(int, const char*, int, mode_t)>(name)(folder, rewritten.c_str(), flags, mode);
}

// 'K' is the letter of KFD's ioctls, 'd' that of DRM's, 'F' that of NVIDIA's, whose UVM has none;
// terminals and sockets have others.
bool may_be_ours(unsigned long request) {
  unsigned long letter = request >> 8 & 0xff;
  return letter == 'K' || letter == 'd' || letter == 'F' || letter == 0;
}

// NV_ESC_ALLOC_OS_EVENT. [open-gpu-kernel-modules nv-ioctl-numbers.h]
bool makes_event_file(unsigned long request) { return (request & 0xffff) == ('F' << 8 | 0xce); }

}  // namespace

extern "C" {

// Reads the mode even if it was not passed, and then does not use it: it is in a register in any
// case.
int shim_open(const char* path, int flags, mode_t mode) DOORBELL_STANDS_FOR(open);
int shim_open64(const char* path, int flags, mode_t mode) DOORBELL_STANDS_FOR(open64);
int shim_open_2(const char* path, int flags) DOORBELL_STANDS_FOR(__open_2);
int shim_open64_2(const char* path, int flags) DOORBELL_STANDS_FOR(__open64_2);
int shim_openat(int folder, const char* path, int flags, mode_t mode) DOORBELL_STANDS_FOR(openat);
int shim_openat64(int folder, const char* path, int flags, mode_t mode)
    DOORBELL_STANDS_FOR(openat64);
int shim_openat_2(int folder, const char* path, int flags) DOORBELL_STANDS_FOR(__openat_2);
int shim_openat64_2(int folder, const char* path, int flags) DOORBELL_STANDS_FOR(__openat64_2);
FILE* shim_fopen(const char* path, const char* mode) DOORBELL_STANDS_FOR(fopen);
FILE* shim_fopen64(const char* path, const char* mode) DOORBELL_STANDS_FOR(fopen64);
DIR* shim_opendir(const char* path) DOORBELL_STANDS_FOR(opendir);
int shim_scandir(const char* path, void* list, void* filter, void* compare)
    DOORBELL_STANDS_FOR(scandir);
int shim_scandir64(const char* path, void* list, void* filter, void* compare)
    DOORBELL_STANDS_FOR(scandir64);
int shim_ioctl(int descriptor, unsigned long request, void* argument) DOORBELL_STANDS_FOR(ioctl);

int shim_open(const char* path, int flags, mode_t mode) {
  return open_path("open", path, flags, mode);
}
int shim_open64(const char* path, int flags, mode_t mode) {
  return open_path("open64", path, flags, mode);
}
int shim_open_2(const char* path, int flags) { return open_path("open", path, flags, 0); }
int shim_open64_2(const char* path, int flags) { return open_path("open64", path, flags, 0); }

int shim_openat(int folder, const char* path, int flags, mode_t mode) {
  return open_at("openat", folder, path, flags, mode);
}
int shim_openat64(int folder, const char* path, int flags, mode_t mode) {
  return open_at("openat64", folder, path, flags, mode);
}
int shim_openat_2(int folder, const char* path, int flags) {
  return open_at("openat", folder, path, flags, 0);
}
int shim_openat64_2(int folder, const char* path, int flags) {
  return open_at("openat64", folder, path, flags, 0);
}

FILE* shim_fopen(const char* path, const char* mode) {
  return real<FILE*(const char*, const char*)>("fopen")(Path(path).c_str(), mode);
}
FILE* shim_fopen64(const char* path, const char* mode) {
  return real<FILE*(const char*, const char*)>("fopen64")(Path(path).c_str(), mode);
}
DIR* shim_opendir(const char* path) {
  return real<DIR*(const char*)>("opendir")(Path(path).c_str());
}
int shim_scandir(const char* path, void* list, void* filter, void* compare) {
  return real<int(const char*, void*, void*, void*)>("scandir")(Path(path).c_str(), list, filter,
                                                                compare);
}
int shim_scandir64(const char* path, void* list, void* filter, void* compare) {
  return real<int(const char*, void*, void*, void*)>("scandir64")(Path(path).c_str(), list, filter,
                                                                  compare);
}

int shim_ioctl(int descriptor, unsigned long request, void* argument) {
  const DoorbellEmulatorDoor* door = opened_emulator();
  int node = door && may_be_ours(request) ? door->node_of(descriptor) : -2;
  if (node == -2)
    return real<int(int, unsigned long, void*)>("ioctl")(descriptor, request, argument);
  // Only the process that opened KFD may use it. [kfd_chardev.c kfd_ioctl()]
  bool refused = forked() && !door->is_own(descriptor);
  int why = refused ? EBADF : door->ioctl(descriptor, node, request, argument);
  if (why == 0) {
    if (makes_event_file(request)) note_event_file();
    return 0;
  }
  errno = why;
  return -1;
}

}  // extern "C"

}  // namespace doorbell::preload
