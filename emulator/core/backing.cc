// A memfd of a terabyte, of which only used pages exist.
#include "emulator/core/backing.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <string>

#include "base/util/check.h"

namespace doorbell::emu {

Result<std::unique_ptr<Backing>> Backing::create(u64 bytes) {
  int descriptor = memfd_create("doorbell-emulator", MFD_CLOEXEC);
  if (descriptor < 0) return fail_errno(errno, "make memory of an emulated machine");
  return map(descriptor, bytes);
}

Result<std::unique_ptr<Backing>> Backing::open_file(const std::string& path, u64 bytes) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) return fail_errno(errno, "open {}", path);
  return map(descriptor, bytes);
}

// Takes the descriptor.
Result<std::unique_ptr<Backing>> Backing::map(int descriptor, u64 bytes) {
  if (ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) {
    Error error = fail_errno(errno, "size the memory of an emulated machine to {:#x}", bytes);
    close(descriptor);
    return error;
  }
  void* base =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
  if (base == MAP_FAILED) {
    Error error = fail_errno(errno, "map {:#x} bytes of an emulated machine's memory", bytes);
    close(descriptor);
    return error;
  }
  madvise(base, bytes, MADV_DONTFORK);  // a child has no GPU
  return std::unique_ptr<Backing>(new Backing(descriptor, static_cast<u8*>(base), bytes));
}

Backing::Backing(int descriptor, u8* base, u64 bytes)
    : descriptor_(descriptor), base_(base), bytes_(bytes) {}

Backing::~Backing() {
  munmap(base_, bytes_);
  close(descriptor_);
}

int Backing::open(int flags) const {
  const std::string path = "/proc/self/fd/" + std::to_string(descriptor_);
  const int opened = ::open(path.c_str(), O_RDWR | (flags & O_CLOEXEC));
  if (opened >= 0) return opened;
  // Without /proc it is a copy of the descriptor.
  return fcntl(descriptor_, (flags & O_CLOEXEC) ? F_DUPFD_CLOEXEC : F_DUPFD, 3);
}

Result<u64> Backing::allocate(u64 bytes, u64 alignment) {
  CHECK(std::has_single_bit(alignment) && alignment >= 4096, "alignment {:#x}", alignment);
  if (bytes == 0 || bytes > bytes_)
    return fail(ErrorKind::OutOfMemory, "{:#x} bytes of {:#x}", bytes, bytes_);
  bytes = (bytes + 4095) & ~u64{4095};
  std::lock_guard lock(mutex_);
  // Searches from the end of the last allocation, then from the beginning.
  for (u64 from : {next_, u64{0}}) {
    u64 offset = (from + alignment - 1) & ~(alignment - 1);
    auto after = used_.lower_bound(from);
    for (;; ++after) {
      u64 end = after == used_.end() ? bytes_ : after->first;
      if (offset <= end && bytes <= end - offset) {
        used_.emplace(offset, bytes);
        next_ = offset + bytes;
        return offset;
      }
      if (after == used_.end()) break;
      offset = (after->first + after->second + alignment - 1) & ~(alignment - 1);
    }
  }
  return fail(ErrorKind::OutOfMemory, "no {:#x} bytes in one piece of {:#x}", bytes, bytes_);
}

void Backing::free(u64 offset) {
  std::lock_guard lock(mutex_);
  auto found = used_.find(offset);
  CHECK(found != used_.end(), "nothing is allocated at {:#x}", offset);
  // Pages that cannot be returned stay until the machine is destroyed, which is harmless.
  static_cast<void>(fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                              static_cast<off_t>(offset), static_cast<off_t>(found->second)));
  used_.erase(found);
}

}  // namespace doorbell::emu
