// ScratchPool: private memory of kernels. A launch carries where its waves' private memory lies and
// how much each takes; a kernel that needs more than there is gets a new, larger area. Areas are
// kept as long as the device: words that were recorded before name the old one. They double, so
// that all of them together are less than twice the last. Waves of several areas may run at once:
// each has a COMPUTE_TMPRING_SIZE of its own, as Mesa does it (ac_gpu_info.c,
// ac_get_scratch_tmpring_size).
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "drivers/amd/caps.h"
#include "drivers/amd/hw/program_registers.h"
#include "drivers/amd/kernel/kfd_gpu.h"

namespace doorbell::amd {

struct Scratch {
  u64 address = 0;  // 0: none
  u64 bytes_per_xcc = 0;
  u32 item_bytes = 0;  // of a work item, at most
  u32 ring_size = 0;   // COMPUTE_TMPRING_SIZE
};

// What buffer instructions of private memory expect in SGPRs 0 to 3: items of a wave side by side.
hw::ScratchResource scratch_resource(const Scratch& scratch, bool wave32);

class ScratchPool {
 public:
  ScratchPool(KfdGpu& gpu, const Caps& caps) : gpu_(gpu), caps_(caps) {}

  // At least `item_bytes` for each work item. Fails where not even few waves fit.
  Result<Scratch> get(u32 item_bytes);
  // The newest; for AQL queues, which have one for all launches.
  Scratch current() const;

 private:
  Result<Scratch> grow(u32 item_bytes);
  u32 ring_size(u64 waves, u64 wave_bytes) const;

  KfdGpu& gpu_;
  const Caps& caps_;
  mutable std::mutex mutex_;  // guards what follows
  std::vector<std::unique_ptr<KfdMemory>> areas_;
  Scratch current_;
};

}  // namespace doorbell::amd
