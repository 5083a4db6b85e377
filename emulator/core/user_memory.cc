// Copies through the host's kernel, which checks the addresses.
#include "emulator/core/user_memory.h"

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace doorbell::emu {
namespace {

constexpr u64 kUserLimit = u64{1} << 47;

// Sandboxes may forbid the calls; then a bad pointer crashes, as in any library.
bool forbidden(int why) { return why == ENOSYS || why == EPERM; }

}  // namespace

bool access_ok(u64 user, u64 bytes) { return user < kUserLimit && bytes <= kUserLimit - user; }

// Reads the kernel's list of mappings instead of the memory. If it cannot be read, all memory
// counts as mapped.
int writable(u64 user, u64 bytes) {
  if (!access_ok(user, bytes)) return EFAULT;
  std::unique_ptr<FILE, int (*)(FILE*)> maps(fopen("/proc/self/maps", "re"), fclose);
  if (!maps) return 0;
  char line[512];
  bool is_start = true;  // of a line: names of files may be long
  for (u64 reached = user; reached < user + bytes;) {
    if (!fgets(line, sizeof line, maps.get())) return EFAULT;
    const bool was_start = is_start;
    is_start = std::strchr(line, '\n') != nullptr;
    unsigned long start = 0, end = 0;
    char read = '-', write = '-';
    if (!was_start || std::sscanf(line, "%lx-%lx %c%c", &start, &end, &read, &write) != 4) continue;
    if (end <= reached) continue;
    if (start > reached || read != 'r') return EFAULT;
    if (write != 'w') return EPERM;
    reached = end;
  }
  return 0;
}

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

}  // namespace doorbell::emu
