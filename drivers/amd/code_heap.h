// CodeHeap: executable memory of a device, in pieces of large buffer objects: most kernels are a
// few hundred bytes. Programs write their code there.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "drivers/amd/kernel/kfd_gpu.h"
#include "hcq/memory/tlsf.h"
#include "hcq/signal/fence.h"

namespace doorbell::amd {

class CodeHeap {
 public:
  struct Range {
    u64 address = 0;  // 0: none
    u64 bytes = 0;
  };

  explicit CodeHeap(KfdGpu& gpu) : gpu_(gpu) {}

  // `entry`: of the kernel's first instruction, from the range's beginning.
  Result<Range> allocate(u64 bytes, u64 alignment, const std::string& kernel, u64 entry);
  // Given to others once `until` is done; never waits.
  void release(const Range& range, hcq::Fence until);
  // "sum_16+0x40": the kernel whose code lies at `address`, and how far from its first instruction;
  // "" where none does.
  std::string name_at(u64 address) const;

 private:
  struct Chunk {
    std::unique_ptr<KfdMemory> memory;
    hcq::Tlsf free;
  };
  struct Kernel {
    u64 bytes;
    std::string name;
    u64 entry;
  };
  struct Retired {
    Range range;
    hcq::Fence until;
  };
  Result<u64> allocate_in_chunk(u64 bytes, u64 alignment);
  void sweep();

  KfdGpu& gpu_;
  mutable std::mutex mutex_;  // guards what follows
  std::vector<Chunk> chunks_;
  std::map<u64, Kernel> kernels_;  // by address
  std::vector<Retired> retired_;
};

}  // namespace doorbell::amd
