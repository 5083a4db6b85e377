// KfdGpu: one GPU as the kernel lets this process have it: its render node, its address space, its
// doorbells, its clock. Memory and queues are made through it.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <memory>
#include <mutex>

#include "base/os/mmio.h"
#include "drivers/amd/kernel/kfd.h"
#include "drivers/amd/kernel/kfd_memory.h"

namespace doorbell::amd {

class KfdGpu {
 public:
  static Result<std::unique_ptr<KfdGpu>> open(Kfd& kfd, const Node& node);

  Kfd& kfd() const { return kfd_; }
  u32 id() const { return node_.gpu_id; }
  const Node& node() const { return node_; }

  // Mapped on this GPU. A refusal says whether memory lacks, and what else it may be.
  Result<std::unique_ptr<KfdMemory>> allocate(const MemoryRequest& request);
  // Memory of another process or driver, by the descriptor of its dma-buf.
  Result<std::unique_ptr<KfdMemory>> import_dmabuf(int descriptor, std::string what);

  // What its timestamps count, now.
  Result<u64> clock_ticks();
  // Bytes that may still be allocated.
  Result<u64> available_bytes();
  // The eight bytes that a queue of this GPU is rung at. `offset` is what CREATE_QUEUE gave.
  Result<os::Mmio> doorbell(u64 offset);

 private:
  KfdGpu(Kfd& kfd, const Node& node, std::unique_ptr<os::File> render)
      : kfd_(kfd), node_(node), render_(std::move(render)) {}
  u64 whole_pages(u64 bytes) const;

  Kfd& kfd_;
  const Node& node_;  // kfd_'s
  const std::unique_ptr<os::File> render_;
  std::mutex mutex_;  // guards what follows
  os::MappedRegisters doorbells_;
  u64 doorbells_offset_ = 0;
};

}  // namespace doorbell::amd
