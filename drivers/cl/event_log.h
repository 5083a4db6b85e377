// EventLog: the work of one in-order queue that may not be done yet, by number. It finds the events
// for which other queues must wait, keeps the first error until it is reported, and adds finished
// work to the trace.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "drivers/cl/api.h"
#include "hcq/trace/trace.h"

namespace doorbell::cl {

class EventLog {
 public:
  // Where a device's spans go, and the host's clock minus the device's.
  struct Target {
    hcq::Trace* trace = nullptr;
    std::string device, queue;
    i64 clock_offset_ns = 0;
  };
  EventLog(const Api& api, Target target) : api_(api), target_(std::move(target)) {}
  ~EventLog();

  // Takes ownership of the event of the last enqueued work, and numbers it from 1. The texts
  // outlive the log.
  u64 add(cl_event event, std::string_view name, std::string_view category);
  // The event to wait for until number `number` is done; empty if it is done.
  Owned<cl_event> pending(u64 number);
  // The number of the last work; 0 before the first.
  u64 last() const { return last_.load(std::memory_order_acquire); }
  // Work up to this number is done.
  u64 finished();
  // The first error of work that was seen to be done, once.
  Result<void> take_error();
  // Waits until there is room for more work. Enqueued work cannot be cancelled, so only a little
  // long work is enqueued ahead, and as much short work as keeps the device busy.
  void wait_for_room();
  // Waits until all is done. It is an error if the thread is asked to stop meanwhile
  // (base/util/stop.h).
  Result<void> wait_until_done();
  // Drops finished work. Returns the first error since the last call.
  Result<void> collect();

 private:
  struct Entry {
    cl_event event;
    std::string_view name, category;
  };
  // Large enough to be rarely full, so that finished work is searched only now and then.
  static constexpr usize kLookAt = 256;
  static constexpr usize kMinAhead = 2, kMaxAhead = 256;
  // May be asked to stop: `may_stop`.
  Result<void> wait_until_left(usize most, bool may_stop, bool* was_long);
  Result<void> take_error_locked();
  void forget_done();
  void note(const Entry& entry, cl_int status);

  const Api& api_;
  const Target target_;
  std::mutex mutex_;  // guards the members below
  std::deque<Entry> entries_;
  u64 first_ = 1;  // the number of entries_.front()
  usize look_at_ = kLookAt;
  usize ahead_ = kMinAhead;
  std::unique_ptr<Error> error_;
  std::atomic<u64> last_{0};  // written under the mutex
};

}  // namespace doorbell::cl
