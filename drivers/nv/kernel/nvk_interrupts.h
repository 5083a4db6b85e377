// NvkInterrupts: a file that is ready after a channel of the GPU has interrupted the host: RM's
// event of all non-stall interrupts. It does not say which channel interrupted, and does not come
// for the errors that end channels.
//
// Thread safety: wait() from one thread at a time.
#pragma once

#include <memory>

#include "drivers/nv/kernel/nvk_gpu.h"

namespace doorbell::nv {

class NvkInterrupts {
 public:
  // The GPU outlives it. Sandboxes may refuse the event.
  static Result<std::unique_ptr<NvkInterrupts>> make(const NvkGpu& gpu);

  // Blocks until there was an interrupt since the last wait, for at most `timeout_ns`, or until a
  // signal comes.
  Result<void> wait(u64 timeout_ns);

 private:
  explicit NvkInterrupts(const NvkGpu& gpu) : gpu_(gpu) {}

  const NvkGpu& gpu_;
  std::unique_ptr<os::File> file_;  // outlives the event
  RmObject event_;
};

}  // namespace doorbell::nv
