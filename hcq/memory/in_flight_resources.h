// InFlightResources: owns the buffers of submitted work until that is done, so that nobody else
// gets their memory, and marks those that abandoned work should have written as poisoned.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "core/device/buffer.h"
#include "hcq/signal/fence.h"

namespace doorbell::hcq {

class InFlightResources {
 public:
  struct Work {
    std::span<const core::Ref<core::Buffer>> buffers;
    // What else the work needs, programs; shared_ptr<const void> because anything may be.
    std::shared_ptr<const void> more = nullptr;
    // Of the buffers those that it writes: poisoned where it is abandoned.
    std::span<core::Buffer* const> written = {};
    // Takes back what the caller made of its results; called where the same thread gives it up,
    // that of later work first.
    std::function<void()> undo = nullptr;
  };
  // Costs nothing where the work is done already. Lets go of what is done by now.
  void keep(const Fence& until, Work work);
  // Lets go of what is done by now.
  void sweep();
  // Waits for all that is kept, and lets go of it. What queues got wrong is not told here; what a
  // dead one was given stays.
  void wait();
  usize count() const;

  // Work that was abandoned (Queue::AbandonListener).
  void mark_abandoned(const Queue& queue, Position first, Position last);
  void undo_abandoned();

 private:
  struct Undo {
    std::function<void()> run;
    std::thread::id thread;  // whose it is
  };
  struct Kept {
    Fence until;
    std::vector<core::Ref<core::Buffer>> buffers;
    std::shared_ptr<const void> more;
    std::vector<core::Buffer*> written;  // of `buffers`
    Undo undo;
  };
  // Moves what is done out of the list, for the caller to drop without the lock.
  std::vector<Kept> take_done();

  mutable std::mutex mutex_;  // guards what follows
  std::vector<Kept> kept_;
  std::vector<Undo> abandoned_;     // the last work's first
  std::atomic<bool> holds_{false};  // kept_ is not empty, so that sweeping nothing costs nothing
};

}  // namespace doorbell::hcq
