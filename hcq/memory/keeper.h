// Keeper: owns buffers until the work that uses them is done, so that their memory is not given to
// others meanwhile. Whoever starts work on buffers that may lose their owners keeps them here.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <mutex>
#include <span>
#include <vector>

#include "core/device/buffer.h"
#include "hcq/signal/fence.h"

namespace doorbell::hcq {

class Keeper {
 public:
  // Costs nothing where the work is done already. Lets go of what is done by now.
  void keep(const Fence& until, std::span<const core::Ref<core::Buffer>> buffers);
  // Lets go of what is done by now.
  void sweep();
  usize count() const;

 private:
  struct Kept {
    Fence until;
    std::vector<core::Ref<core::Buffer>> buffers;
  };
  // Moves what is done out of the list, for the caller to drop without the lock.
  std::vector<Kept> take_done();

  mutable std::mutex mutex_;  // guards kept_
  std::vector<Kept> kept_;
};

}  // namespace doorbell::hcq
