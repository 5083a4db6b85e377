// InFlightResources: owns the buffers of submitted work until it is done, so that their memory is
// not reused, and marks buffers that abandoned work should have written as poisoned.
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
    // Other objects that the work needs, such as programs; shared_ptr<const void> for objects of
    // any type.
    std::shared_ptr<const void> more = nullptr;
    // The buffers that it writes: poisoned if it is abandoned.
    std::span<core::Buffer* const> written = {};
    // Undoes the caller's use of its results; called if the same thread abandons it, for later work
    // first.
    std::function<void()> undo = nullptr;
  };
  // Costs little if the work is done already. Releases resources of finished work.
  void keep(const Fence& until, Work work);
  // Whether the work is done, and need not be kept. If it was abandoned, what it was to write is
  // poisoned then.
  static bool settle(const Fence& until, std::span<core::Buffer* const> written);
  // Releases resources of finished work.
  void sweep();
  // Waits for all work and releases its resources. Does not report errors of queues; resources of
  // work on a dead queue stay.
  void wait();
  usize count() const;

  // Work that was abandoned (Queue::AbandonListener).
  void mark_abandoned(const Queue& queue, Position first, Position last);
  void undo_abandoned();

 private:
  struct Undo {
    std::function<void()> run;
    std::thread::id thread;  // the thread that submitted it
  };
  struct Kept {
    Fence until;
    std::vector<core::Ref<core::Buffer>> buffers;
    std::shared_ptr<const void> more;
    std::vector<core::Buffer*> written;  // of `buffers`
    Undo undo;
  };
  // Moves finished entries out of the list, for the caller to destroy without the lock.
  std::vector<Kept> take_done();

  mutable std::mutex mutex_;  // guards the members below
  std::vector<Kept> kept_;
  std::vector<Undo> abandoned_;     // the latest work first
  std::atomic<bool> holds_{false};  // kept_ is not empty, so that sweeping nothing costs nothing
};

}  // namespace doorbell::hcq
