// Memory as anonymous pages, which become a file's when the process wants to map them: most memory
// of a GPU is never mapped, and descriptors are few.
#include "emulator/nv/rm/memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "emulator/core/races/agent_races.h"

namespace doorbell::emu::nvgpu {

namespace {

constexpr u64 kPage = 4096;
constexpr const char* kFileName = "nvidia memory";

// Whether it is a file of Memory::descriptor(), whoever made it. [proc(5), memfd_create(2)]
bool is_memory(int descriptor) {
  char target[64];
  const ssize_t length =
      readlink(fmt::format("/proc/self/fd/{}", descriptor).c_str(), target, sizeof target);
  return length > 0 && std::string_view(target, static_cast<usize>(length)) ==
                           fmt::format("/memfd:{} (deleted)", kFileName);
}

}  // namespace

Result<std::shared_ptr<Memory>> Memory::allocate(Kind kind, u32 gpu, u64 bytes, bool read_only) {
  bytes = (bytes + kPage - 1) / kPage * kPage;
  void* host = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (host == MAP_FAILED) return fail_errno(errno, "allocate {:#x} bytes for GPU {}", bytes, gpu);
  return std::shared_ptr<Memory>(new Memory(kind, gpu, static_cast<u8*>(host), bytes, read_only));
}

std::shared_ptr<Memory> Memory::of_process(u32 gpu, u8* host, u64 bytes) {
  return std::shared_ptr<Memory>(new Memory(Kind::User, gpu, host, bytes, false));
}

Result<std::shared_ptr<Memory>> Memory::of_descriptor(u32 gpu, int descriptor) {
  if (!is_memory(descriptor))
    return fail(ErrorKind::Invalid, "descriptor {} is no dma-buf of an emulated GPU", descriptor);
  const int file = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (file < 0) return fail_errno(errno, "copy descriptor {}", descriptor);
  struct stat status;
  void* host = MAP_FAILED;
  if (fstat(file, &status) == 0)
    host = mmap(nullptr, static_cast<usize>(status.st_size), PROT_READ | PROT_WRITE, MAP_SHARED,
                file, 0);
  if (host == MAP_FAILED) {
    const int why = errno;
    close(file);
    return fail_errno(why, "map the memory of descriptor {}", descriptor);
  }
  std::shared_ptr<Memory> memory(new Memory(Kind::System, gpu, static_cast<u8*>(host),
                                            static_cast<u64>(status.st_size), false));
  memory->descriptor_ = file;
  return memory;
}

Memory::~Memory() {
  if (races_ != nullptr) races_->forget(host_, bytes_);
  if (descriptor_ >= 0) close(descriptor_);
  if (kind_ != Kind::User) munmap(host_, bytes_);
}

void Memory::poison() {
  constexpr u64 kMost = u64{256} << 10;
  constexpr u8 kPoison = 0xdb;
  std::fill_n(host_, std::min(bytes_, kMost), kPoison);
}

Result<int> Memory::descriptor() {
  if (descriptor_ >= 0) return descriptor_;
  const int file = memfd_create(kFileName, MFD_CLOEXEC);
  if (file < 0) return fail_errno(errno, "make a file of {:#x} bytes", bytes_);
  void* copy = MAP_FAILED;
  if (ftruncate(file, static_cast<off_t>(bytes_)) == 0)
    copy = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (copy == MAP_FAILED) {
    const int why = errno;
    close(file);
    return fail_errno(why, "map a file of {:#x} bytes", bytes_);
  }
  for (u64 at = 0; at < bytes_; at += kPage) {
    const u8* page = host_ + at;
    if (std::any_of(page, page + kPage, [](u8 byte) { return byte != 0; }))
      std::copy_n(page, kPage, static_cast<u8*>(copy) + at);
  }
  munmap(copy, bytes_);
  if (mmap(host_, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED) {
    const int why = errno;
    close(file);
    return fail_errno(why, "map a file of {:#x} bytes", bytes_);
  }
  return descriptor_ = file;
}

}  // namespace doorbell::emu::nvgpu
