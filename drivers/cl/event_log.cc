// Events in order: the first that is not done ends the search.
#include "drivers/cl/event_log.h"

#include <algorithm>
#include <utility>

#include "base/os/host.h"
#include "base/util/stop.h"
#include "base/util/try.h"

namespace doorbell::cl {

EventLog::~EventLog() {
  for (const Entry& entry : entries_) api_.clReleaseEvent(entry.event);
}

u64 EventLog::add(cl_event event, std::string_view name, std::string_view category) {
  std::lock_guard lock(mutex_);
  entries_.push_back({event, name, category});
  if (entries_.size() >= look_at_) {
    forget_done();
    look_at_ = entries_.size() + kLookAt;
  }
  const u64 number = first_ + entries_.size() - 1;
  last_.store(number, std::memory_order_release);
  return number;
}

Owned<cl_event> EventLog::pending(u64 number) {
  std::lock_guard lock(mutex_);
  if (number < first_) return {};
  const cl_event event = entries_[number - first_].event;
  api_.clRetainEvent(event);
  return Owned<cl_event>(event, api_.clReleaseEvent);
}

u64 EventLog::finished() {
  std::lock_guard lock(mutex_);
  forget_done();
  return first_ - 1;
}

Result<void> EventLog::take_error() {
  std::lock_guard lock(mutex_);
  return take_error_locked();
}

Result<void> EventLog::wait_until_left(usize most, bool may_stop, bool* was_long) {
  // Turns of Clock::relax beyond which it sleeps: some 100 us.
  constexpr u32 kLong = 4200;
  for (u32 turn = 0;; ++turn) {
    {
      std::lock_guard lock(mutex_);
      if (entries_.size() > most) forget_done();
      if (entries_.size() <= most) {
        *was_long = turn > kLong;
        return {};
      }
    }
    if (may_stop && stop_asked())
      return fail(ErrorKind::Timeout, "the wait for {} was stopped", target_.device);
    os::host_clock().relax(turn);
  }
}

void EventLog::wait_for_room() {
  usize most;
  {
    std::lock_guard lock(mutex_);
    if (entries_.size() <= ahead_) [[likely]]
      return;
    forget_done();
    if (entries_.size() <= ahead_) return;
    most = ahead_;
  }
  bool was_long = false;
  (void)wait_until_left(most, false, &was_long);  // fails only where it may stop
  std::lock_guard lock(mutex_);
  ahead_ = was_long ? kMinAhead : std::min(kMaxAhead, 2 * ahead_);
}

Result<void> EventLog::wait_until_done() {
  bool was_long = false;
  return wait_until_left(0, true, &was_long);
}

Result<void> EventLog::collect() {
  std::lock_guard lock(mutex_);
  forget_done();
  look_at_ = entries_.size() + kLookAt;
  return take_error_locked();
}

Result<void> EventLog::take_error_locked() {
  if (error_ == nullptr) return {};
  return std::move(*std::exchange(error_, nullptr));
}

void EventLog::forget_done() {
  while (!entries_.empty()) {
    const Entry entry = entries_.front();
    cl_int status = CL_COMPLETE;
    if (api_.clGetEventInfo(entry.event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                            nullptr) != CL_SUCCESS)
      status = CL_COMPLETE;
    if (status > CL_COMPLETE) return;
    note(entry, status);
    api_.clReleaseEvent(entry.event);
    entries_.pop_front();
    ++first_;
  }
}

void EventLog::note(const Entry& entry, cl_int status) {
  if (status < 0) {
    if (error_ != nullptr) return;
    error_ = std::make_unique<Error>(fail(ErrorKind::DeviceLost, "{} {} ended with {}",
                                          entry.category, entry.name, error_name(status)));
    error_->device = target_.device;
    return;
  }
  if (target_.trace == nullptr) return;
  cl_ulong begin = 0, end = 0;
  if (api_.clGetEventProfilingInfo(entry.event, CL_PROFILING_COMMAND_START, sizeof begin, &begin,
                                   nullptr) != CL_SUCCESS ||
      api_.clGetEventProfilingInfo(entry.event, CL_PROFILING_COMMAND_END, sizeof end, &end,
                                   nullptr) != CL_SUCCESS)
    return;
  const u64 offset = static_cast<u64>(target_.clock_offset_ns);
  target_.trace->add({target_.device, target_.queue, std::string(entry.name),
                      std::string(entry.category), begin + offset, end + offset});
}

}  // namespace doorbell::cl
