// Keeper: owns buffers until the work that uses them is done, so that their memory is not given to
// others meanwhile. Whoever starts work on buffers that may lose their owners keeps them here.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/device/buffer.h"
#include "hcq/signal/fence.h"

namespace doorbell::hcq {

class Keeper {
 public:
  // Costs nothing where the work is done already. Lets go of what is done by now. `more`: what else
  // the work needs, programs; shared_ptr<const void> because anything may be.
  void keep(const Fence& until, std::span<const core::Ref<core::Buffer>> buffers,
            std::shared_ptr<const void> more = nullptr);
  // Lets go of what is done by now.
  void sweep();
  // Waits for all that is kept, and lets go of it. What queues got wrong is not told here; what a
  // dead one was given stays.
  void wait();
  usize count() const;

 private:
  struct Kept {
    Fence until;
    std::vector<core::Ref<core::Buffer>> buffers;
    std::shared_ptr<const void> more;
  };
  // Moves what is done out of the list, for the caller to drop without the lock.
  std::vector<Kept> take_done();

  mutable std::mutex mutex_;  // guards kept_
  std::vector<Kept> kept_;
  std::atomic<bool> holds_{false};  // kept_ is not empty, so that sweeping nothing costs nothing
};

}  // namespace doorbell::hcq
