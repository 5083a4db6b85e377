// Copies through the kernel, which checks the addresses for us.
#include "emulator/amd/kfd/user_memory.h"

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace doorbell::emulator::amd {
namespace {

constexpr u64 kUserLimit = u64{1} << 47;

// Sandboxes may forbid the calls; then a bad pointer crashes, as in any library.
bool forbidden(int why) { return why == ENOSYS || why == EPERM; }

}  // namespace

bool access_ok(u64 user, u64 bytes) { return user < kUserLimit && bytes <= kUserLimit - user; }

bool copy_in(void* into, u64 user, usize bytes) {
  if (bytes == 0) return true;
  if (!access_ok(user, bytes)) return false;
  iovec local{into, bytes}, remote{reinterpret_cast<void*>(user), bytes};
  ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
  if (got < 0 && forbidden(errno)) {
    std::memcpy(into, reinterpret_cast<const void*>(user), bytes);
    return true;
  }
  return got == static_cast<ssize_t>(bytes);
}

bool copy_out(u64 user, const void* from, usize bytes) {
  if (bytes == 0) return true;
  if (!access_ok(user, bytes)) return false;
  iovec local{const_cast<void*>(from), bytes}, remote{reinterpret_cast<void*>(user), bytes};
  ssize_t put = process_vm_writev(getpid(), &local, 1, &remote, 1, 0);
  if (put < 0 && forbidden(errno)) {
    std::memcpy(reinterpret_cast<void*>(user), from, bytes);
    return true;
  }
  return put == static_cast<ssize_t>(bytes);
}

}  // namespace doorbell::emulator::amd
