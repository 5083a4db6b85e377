// NvkMemory: an object of RM's memory with its GPU address, where the host sees it, and the GPUs
// that may use it.
//
// Kinds:
//   Video         the GPU's own memory; the host does not see it
//   VisibleVideo  the same through BAR1, for the host to write (write-combined) and, slowly, read
//   Host          memory of the process, pinned; GPUs snoop the host's caches
//   Notifier      memory of the system's that RM itself writes, too
//
// Thread safety: map_to() from any thread; the rest does not change.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/os/mapping.h"
#include "drivers/nv/kernel/rm_client.h"

namespace doorbell::nv {

class Nvk;
class NvkGpu;

enum class MemoryKind : u8 { Video, VisibleVideo, Host, Notifier };

struct MemoryRequest {
  u64 bytes = 0;
  MemoryKind kind = MemoryKind::Video;
  bool low = false;  // addresses below 2^40, for what the host engine reads or writes
  // Forked children, which cannot use the GPU, have the host's view of it, too.
  bool inherited = false;
  std::string what;  // for reports: "a ring"
};

class NvkMemory {
 public:
  // Unmaps and frees it. Nothing may use it any more.
  ~NvkMemory();
  NvkMemory(const NvkMemory&) = delete;
  NvkMemory& operator=(const NvkMemory&) = delete;

  u64 address() const { return address_; }
  u64 bytes() const { return bytes_; }
  // Null where the host does not see it.
  u8* host() const { return mapping_.data(); }
  u32 handle() const { return object_.handle(); }
  // Lets another GPU use it, at the same address. Costs nothing where it may already.
  Result<void> map_to(const NvkGpu& gpu);
  // A descriptor of a dma-buf by which others import it; the caller closes it. Of video memory
  // only: the kernel modules share nothing else.
  Result<int> export_dmabuf();

 private:
  friend class NvkGpu;
  NvkMemory(Nvk& nvk, u64 address, u64 bytes) : nvk_(nvk), address_(address), bytes_(bytes) {}
  Result<void> allocate_video(const NvkGpu& gpu, u64 alignment);
  Result<void> allocate_host(const NvkGpu& gpu, const MemoryRequest& request);
  Result<void> allocate_notifier(const NvkGpu& gpu);
  Result<void> describe_dmabuf(const NvkGpu& gpu, int descriptor);
  Result<void> map_for_host(const NvkGpu& gpu, const MemoryRequest& request);
  Result<void> map_for_gpus(const NvkGpu& gpu);

  Nvk& nvk_;
  const u64 address_, bytes_;
  std::unique_ptr<os::File> file_;  // of the host's mapping: the kernel has one of each file
  os::Mapping mapping_;
  RmObject object_;
  const NvkGpu* owner_ = nullptr;  // whose video memory it is; null: it is none
  bool has_range_ = false, is_noted_ = false;
  std::mutex mutex_;                 // guards gpus_
  std::vector<const NvkGpu*> gpus_;  // those it is mapped on
};

}  // namespace doorbell::nv
