// EventLog: the work of one in-order queue that may not be done yet, by number. It answers what
// other queues must wait for, keeps the first error until it is asked for, and puts what ran into
// the trace.
//
// Thread safety: all functions may be called from any thread.
#pragma once

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

  // Takes over the event of what was enqueued last, and numbers it from 1. The texts outlive the
  // log.
  u64 add(cl_event event, std::string_view name, std::string_view category);
  // What to wait for so that number `number` is done; owns nothing where it is.
  Owned<cl_event> pending(u64 number);
  // Until there is room for more work: what is enqueued cannot be taken back should the thread be
  // asked to stop meanwhile (base/util/stop.h), which is an error. Of long work only a little is
  // enqueued ahead, of short work as much as keeps the device busy.
  Result<void> wait_for_room();
  // The same until all is done.
  Result<void> wait_until_done();
  // Forgets what is done. The first error since it was asked last.
  Result<void> collect();

 private:
  struct Entry {
    cl_event event;
    std::string_view name, category;
  };
  // Enough that it is rarely full, so that done work is looked for only now and then.
  static constexpr usize kLookAt = 256;
  static constexpr usize kLeastAhead = 2, kMostAhead = 256;
  Result<void> wait_until_left(usize most, bool* was_long);
  void forget_done();
  void note(const Entry& entry, cl_int status);

  const Api& api_;
  const Target target_;
  std::mutex mutex_;  // guards what follows
  std::deque<Entry> entries_;
  u64 first_ = 1;  // the number of entries_.front()
  usize look_at_ = kLookAt;
  usize ahead_ = kLeastAhead;
  std::unique_ptr<Error> error_;
};

}  // namespace doorbell::cl
