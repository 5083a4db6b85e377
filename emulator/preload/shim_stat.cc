// Functions that query paths and descriptors: paths lead to the machine's files, devices are
// character devices.
#include <fcntl.h>
#include <limits.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "emulator/preload/shim.h"

namespace doorbell::preload {
namespace {

using Stat = struct stat;
using Statx = struct statx;

int after(int answer, const Path& path, Stat* status) {
  if (answer == 0 && path.node() != -2) make_device(status, path.node());
  return answer;
}

int stat_path(const char* name, const char* path, Stat* status) {
  Path rewritten(path);
  return after(real<int(const char*, Stat*)>(name)(rewritten.c_str(), status), rewritten, status);
}

// The old entry points, with a version as the first argument.
int xstat_path(const char* name, int version, const char* path, Stat* status) {
  Path rewritten(path);
  return after(real<int(int, const char*, Stat*)>(name)(version, rewritten.c_str(), status),
               rewritten, status);
}

int stat_at(const char* name, int folder, const char* path, Stat* status, int flags) {
  Path rewritten(path);
  return after(
      real<int(int, const char*, Stat*, int)>(name)(folder, rewritten.c_str(), status, flags),
      rewritten, status);
}

// -2: not a node of the machine.
int node_of(int descriptor) {
  const DoorbellEmulatorDoor* door = opened_emulator();
  // The emulator queries the same descriptor itself, and needs only the inode.
  static thread_local bool inside = false;
  if (!door || inside) return -2;
  inside = true;
  int node = door->node_of(descriptor);
  inside = false;
  return node;
}

// What stands for an open node: a file, or a socket where the client may poll it.
bool may_be_node(mode_t mode) { return S_ISREG(mode) || S_ISSOCK(mode); }

int after_descriptor(int answer, int descriptor, Stat* status) {
  if (answer != 0 || !may_be_node(status->st_mode)) return answer;
  int node = node_of(descriptor);
  if (node != -2) make_device(status, node);
  return answer;
}

void mark_device(Statx* status, int node) {
  Stat device{};
  device.st_mode = status->stx_mode;
  make_device(&device, node);
  status->stx_mode = static_cast<decltype(status->stx_mode)>(device.st_mode);
  status->stx_rdev_major = major(device.st_rdev);
  status->stx_rdev_minor = minor(device.st_rdev);
  status->stx_size = 0;
}

// A link's target without the root's prefix.
char* after_real_path(char* answer) {
  if (answer) answer[unrewrite(answer, static_cast<long>(strlen(answer)))] = 0;
  return answer;
}

}  // namespace

extern "C" {

int shim_stat(const char* path, Stat* status) DOORBELL_STANDS_FOR(stat);
int shim_stat64(const char* path, Stat* status) DOORBELL_STANDS_FOR(stat64);
int shim_lstat(const char* path, Stat* status) DOORBELL_STANDS_FOR(lstat);
int shim_lstat64(const char* path, Stat* status) DOORBELL_STANDS_FOR(lstat64);
int shim_xstat(int version, const char* path, Stat* status) DOORBELL_STANDS_FOR(__xstat);
int shim_xstat64(int version, const char* path, Stat* status) DOORBELL_STANDS_FOR(__xstat64);
int shim_lxstat(int version, const char* path, Stat* status) DOORBELL_STANDS_FOR(__lxstat);
int shim_lxstat64(int version, const char* path, Stat* status) DOORBELL_STANDS_FOR(__lxstat64);
int shim_fstatat(int folder, const char* path, Stat* status, int flags)
    DOORBELL_STANDS_FOR(fstatat);
int shim_fstatat64(int folder, const char* path, Stat* status, int flags)
    DOORBELL_STANDS_FOR(fstatat64);
int shim_statx(int folder, const char* path, int flags, unsigned mask, Statx* status)
    DOORBELL_STANDS_FOR(statx);
int shim_fstat(int descriptor, Stat* status) DOORBELL_STANDS_FOR(fstat);
int shim_fstat64(int descriptor, Stat* status) DOORBELL_STANDS_FOR(fstat64);
int shim_fxstat(int version, int descriptor, Stat* status) DOORBELL_STANDS_FOR(__fxstat);
int shim_fxstat64(int version, int descriptor, Stat* status) DOORBELL_STANDS_FOR(__fxstat64);
int shim_access(const char* path, int mode) DOORBELL_STANDS_FOR(access);
int shim_eaccess(const char* path, int mode) DOORBELL_STANDS_FOR(eaccess);
int shim_euidaccess(const char* path, int mode) DOORBELL_STANDS_FOR(euidaccess);
int shim_faccessat(int folder, const char* path, int mode, int flags)
    DOORBELL_STANDS_FOR(faccessat);
ssize_t shim_readlink(const char* path, char* to, size_t size) DOORBELL_STANDS_FOR(readlink);
ssize_t shim_readlinkat(int folder, const char* path, char* to, size_t size)
    DOORBELL_STANDS_FOR(readlinkat);
ssize_t shim_readlink_chk(const char* path, char* to, size_t size, size_t room)
    DOORBELL_STANDS_FOR(__readlink_chk);
ssize_t shim_readlinkat_chk(int folder, const char* path, char* to, size_t size, size_t room)
    DOORBELL_STANDS_FOR(__readlinkat_chk);
char* shim_realpath(const char* path, char* to) DOORBELL_STANDS_FOR(realpath);
char* shim_realpath_chk(const char* path, char* to, size_t room)
    DOORBELL_STANDS_FOR(__realpath_chk);
char* shim_canonicalize(const char* path) DOORBELL_STANDS_FOR(canonicalize_file_name);

int shim_stat(const char* path, Stat* status) { return stat_path("stat", path, status); }
int shim_stat64(const char* path, Stat* status) { return stat_path("stat64", path, status); }
int shim_lstat(const char* path, Stat* status) { return stat_path("lstat", path, status); }
int shim_lstat64(const char* path, Stat* status) { return stat_path("lstat64", path, status); }
int shim_xstat(int version, const char* path, Stat* status) {
  return xstat_path("__xstat", version, path, status);
}
int shim_xstat64(int version, const char* path, Stat* status) {
  return xstat_path("__xstat64", version, path, status);
}
int shim_lxstat(int version, const char* path, Stat* status) {
  return xstat_path("__lxstat", version, path, status);
}
int shim_lxstat64(int version, const char* path, Stat* status) {
  return xstat_path("__lxstat64", version, path, status);
}
int shim_fstatat(int folder, const char* path, Stat* status, int flags) {
  return stat_at("fstatat", folder, path, status, flags);
}
int shim_fstatat64(int folder, const char* path, Stat* status, int flags) {
  return stat_at("fstatat64", folder, path, status, flags);
}
int shim_statx(int folder, const char* path, int flags, unsigned mask, Statx* status) {
  Path rewritten(path);
  int answer = real<int(int, const char*, int, unsigned, Statx*)>("statx")(
      folder, rewritten.c_str(), flags, mask, status);
  if (answer != 0) return answer;
  int node = rewritten.node();
  if ((flags & AT_EMPTY_PATH) && path && !*path && may_be_node(status->stx_mode))
    node = node_of(folder);
  if (node != -2) mark_device(status, node);
  return answer;
}

int shim_fstat(int descriptor, Stat* status) {
  return after_descriptor(real<int(int, Stat*)>("fstat")(descriptor, status), descriptor, status);
}
int shim_fstat64(int descriptor, Stat* status) {
  return after_descriptor(real<int(int, Stat*)>("fstat64")(descriptor, status), descriptor, status);
}
int shim_fxstat(int version, int descriptor, Stat* status) {
  return after_descriptor(real<int(int, int, Stat*)>("__fxstat")(version, descriptor, status),
                          descriptor, status);
}
int shim_fxstat64(int version, int descriptor, Stat* status) {
  return after_descriptor(real<int(int, int, Stat*)>("__fxstat64")(version, descriptor, status),
                          descriptor, status);
}

int shim_access(const char* path, int mode) {
  return real<int(const char*, int)>("access")(Path(path).c_str(), mode);
}
int shim_eaccess(const char* path, int mode) {
  return real<int(const char*, int)>("eaccess")(Path(path).c_str(), mode);
}
int shim_euidaccess(const char* path, int mode) {
  return real<int(const char*, int)>("euidaccess")(Path(path).c_str(), mode);
}
int shim_faccessat(int folder, const char* path, int mode, int flags) {
  return real<int(int, const char*, int, int)>("faccessat")(folder, Path(path).c_str(), mode,
                                                            flags);
}

ssize_t shim_readlink(const char* path, char* to, size_t size) {
  ssize_t length =
      real<ssize_t(const char*, char*, size_t)>("readlink")(Path(path).c_str(), to, size);
  return length > 0 ? unrewrite(to, length) : length;
}
ssize_t shim_readlinkat(int folder, const char* path, char* to, size_t size) {
  ssize_t length = real<ssize_t(int, const char*, char*, size_t)>("readlinkat")(
      folder, Path(path).c_str(), to, size);
  return length > 0 ? unrewrite(to, length) : length;
}
// The C library checks the size that it gets.
ssize_t shim_readlink_chk(const char* path, char* to, size_t size, size_t room) {
  ssize_t length = real<ssize_t(const char*, char*, size_t, size_t)>("__readlink_chk")(
      Path(path).c_str(), to, size, room);
  return length > 0 ? unrewrite(to, length) : length;
}
ssize_t shim_readlinkat_chk(int folder, const char* path, char* to, size_t size, size_t room) {
  ssize_t length = real<ssize_t(int, const char*, char*, size_t, size_t)>("__readlinkat_chk")(
      folder, Path(path).c_str(), to, size, room);
  return length > 0 ? unrewrite(to, length) : length;
}
char* shim_realpath(const char* path, char* to) {
  return after_real_path(real<char*(const char*, char*)>("realpath")(Path(path).c_str(), to));
}
char* shim_realpath_chk(const char* path, char* to, size_t room) {
  return after_real_path(
      real<char*(const char*, char*, size_t)>("__realpath_chk")(Path(path).c_str(), to, room));
}
char* shim_canonicalize(const char* path) {
  return after_real_path(real<char*(const char*)>("canonicalize_file_name")(Path(path).c_str()));
}

}  // extern "C"

}  // namespace doorbell::preload
