// KfdMemory: a buffer object of the kernel with its GPU address, where the host sees it, and the
// GPUs that may use it. What is cut out of it is memory.h's.
//
// Kinds, and how the GPU caches them:
//   Vram         the GPU's own memory, cached; the host does not see it
//   VisibleVram  the same through the PCI aperture, for the host to write
//   Host         the system's memory, pinned ("GTT"), uncached and coherent: rings, signals, what
//                host and GPU tell each other
//   User         memory that the process has already ("userptr"), coherent
//
// Thread safety: map_to() from any thread; the rest does not change.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/os/mapping.h"
#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::amd {

class Kfd;
class KfdGpu;

enum class MemoryKind : u8 { Vram, VisibleVram, Host, User };

struct MemoryRequest {
  u64 bytes = 0;
  MemoryKind kind = MemoryKind::Vram;
  bool executable = false;
  bool aql_ring = false;  // of an AQL queue
  void* user = nullptr;   // of User: where it lies, at a page's start
  std::string what;       // for reports: "compute ring"
};

class KfdMemory {
 public:
  // Unmaps and frees it, unless the kernel keeps it. Nothing may use it any more.
  ~KfdMemory();
  KfdMemory(const KfdMemory&) = delete;
  KfdMemory& operator=(const KfdMemory&) = delete;

  u64 address() const { return address_; }
  u64 bytes() const { return bytes_; }
  // Null where the host does not see it.
  u8* host() const { return host_; }
  u64 handle() const { return handle_; }
  // It is the page of event slots, which the kernel frees with the process, and not before.
  // [Linux kfd_chardev.c, kfd_ioctl_free_memory_of_gpu(): EPERM]
  void leave_to_kernel() { is_left_ = true; }
  // Lets another GPU use it, at the same address. Costs nothing where it may already.
  Result<void> map_to(const KfdGpu& gpu);
  // A descriptor by which others import it; the caller closes it.
  Result<int> export_dmabuf();

 private:
  friend class KfdGpu;
  KfdMemory(Kfd& kfd, u64 address, u64 bytes) : kfd_(kfd), address_(address), bytes_(bytes) {}
  Result<void> unmap();

  Kfd& kfd_;
  u64 address_, bytes_;
  u64 handle_ = 0;
  u8* host_ = nullptr;
  os::Mapping mapping_;
  bool is_noted_ = false, is_left_ = false;
  std::mutex mutex_;       // guards gpus_
  std::vector<u32> gpus_;  // ids of those it is mapped on
};

}  // namespace doorbell::amd
