// KfdMemory: a buffer object of the kernel with its GPU address, where the host sees it, and the
// GPUs that may use it. See ../queue_memory.h and ../code_heap.h for pieces of it.
//
// Kinds, and the coherence that each has unless the request names another:
//   Vram         the GPU's own memory, Cached; the host does not see it
//   VisibleVram  the same through the PCI aperture, for the host to read and write; Cached
//   Host         the system's memory, pinned ("GTT"), Uncached: rings, signals, what host and GPU
//                tell each other
//   User         memory that the process has already ("userptr"), Coherent
// Any kind may have any coherence that chip and kernel know; docs/hw/amd.md has what each becomes
// in the page tables.
//
// Thread safety: map_to() from any thread; the rest does not change.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/os/mapping.h"
#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::amd {

class Kfd;
class KfdGpu;

enum class MemoryKind : u8 { Vram, VisibleVram, Host, User };

// What others see of memory while a kernel runs; when one ends, its packets make all of it seen.
enum class Coherence : u8 {
  Cached,       // nothing: "coarse-grained"
  Coherent,     // the host and other GPUs see what system scope says: "fine-grained"
  ExtCoherent,  // atomics of system scope too, between devices; chips with Caps::ext_coherent
  Uncached,     // all of it: the L2 keeps nothing
};

struct MemoryRequest {
  u64 bytes = 0;
  MemoryKind kind = MemoryKind::Vram;
  std::optional<Coherence> coherence;  // none: the kind's
  bool executable = false;
  // Forked children, which cannot use the GPU, have the host's view of it, too. Signals, and what
  // they look at before they are refused, are inherited.
  bool inherited = true;
  void* user = nullptr;  // of User: where it lies, at a page's start
  std::string what;      // for reports: "compute ring"
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
