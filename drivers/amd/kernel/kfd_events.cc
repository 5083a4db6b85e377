// CREATE_EVENT, WAIT_EVENTS, and the waiting threads.
#include "drivers/amd/kernel/kfd_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "base/util/try.h"
#include "drivers/amd/kernel/kfd.h"
#include "drivers/amd/kernel/kfd_memory.h"
#include "drivers/amd/kernel/shared_memory.h"

namespace doorbell::amd {
namespace {

// The kernel takes a page of exactly this size. [Linux kfd_events.c, kfd_event_page_set()]
constexpr i64 kPageBytes = hw::kKfdSignalEventLimit * i64{8};

}  // namespace

KfdEvents::~KfdEvents() {
  for (const u32 event : signal_events_) destroy(event);
  if (memory_event_ != 0) destroy(memory_event_);
  if (hw_event_ != 0) destroy(hw_event_);
  if (page_.host != nullptr) kfd_.shared_memory().release(page_);
}

Result<hw::KfdCreateEvent> KfdEvents::create(u32 type) {
  hw::KfdCreateEvent arguments;
  arguments.event_type = type;
  arguments.auto_reset = 1;
  // The page belongs to the process: it comes with the first event.
  if (!is_open_) {
    if (page_.host == nullptr) {
      TRY(page_, kfd_.shared_memory().allocate(kPageBytes));
    }
    arguments.event_page_offset = static_cast<KfdMemory*>(page_.opaque)->handle();
  }
  TRY(kfd_.call(arguments));
  if (!is_open_) static_cast<KfdMemory*>(page_.opaque)->leave_to_kernel();
  is_open_ = true;
  return arguments;
}

void KfdEvents::destroy(u32 event_id) {
  hw::KfdDestroyEvent arguments;
  arguments.event_id = event_id;
  (void)kfd_.call(arguments);
}

Result<void> KfdEvents::open() {
  std::lock_guard lock(mutex_);
  if (hw_event_ != 0) return {};
  TRY(const hw::KfdCreateEvent memory, create(hw::kKfdEventMemory));
  memory_event_ = memory.event_id;
  TRY(const hw::KfdCreateEvent exception, create(hw::kKfdEventHwException));
  hw_event_ = exception.event_id;
  return {};
}

Result<KfdEvents::Interrupt> KfdEvents::make_interrupt() {
  std::lock_guard lock(mutex_);
  TRY(const hw::KfdCreateEvent event, create(hw::kKfdEventSignal));
  if (event.event_slot_index >= hw::kKfdSignalEventLimit) {
    destroy(event.event_id);
    return fail(ErrorKind::Corrupt, "event {} has mailbox {} of {}", event.event_id,
                event.event_slot_index, hw::kKfdSignalEventLimit);
  }
  signal_events_.push_back(event.event_id);
  return Interrupt{event.event_id, page_.address + event.event_slot_index * u64{8}};
}

void KfdEvents::release_interrupt(const Interrupt& interrupt) {
  std::lock_guard lock(mutex_);
  std::erase(signal_events_, interrupt.event_id);
  ++released_;
  destroy(interrupt.event_id);
}

void KfdEvents::add_listener(u32 gpu_id, Listener& listener) {
  std::lock_guard lock(listeners_mutex_);
  listeners_.push_back({gpu_id, &listener});
}

void KfdEvents::remove_listener(Listener& listener) {
  std::lock_guard lock(listeners_mutex_);
  std::erase_if(listeners_, [&](const Heard& heard) { return heard.listener == &listener; });
}

Result<void> KfdEvents::block(const hcq::Signal& signal, u64 seen, u64 timeout_ns) {
  constexpr u64 kMillisecond_ns = 1'000'000;
  // Less than a millisecond is one: the caller looks at its clock afterwards.
  const u64 timeout_ms = std::min<u64>((timeout_ns + kMillisecond_ns - 1) / kMillisecond_ns, 1000);
  return waiter_.block(signal, seen, timeout_ns,
                       [&] { return wait_once(static_cast<u32>(timeout_ms)); });
}

void KfdEvents::notify(const hcq::Signal&) {
  const bool is_waiting = waiter_.notify();
  std::lock_guard lock(mutex_);
  if (!is_waiting || signal_events_.empty()) return;
  hw::KfdSetEvent arguments;
  arguments.event_id = signal_events_.front();
  (void)kfd_.call(arguments);
}

Result<void> KfdEvents::wait_once(u32 timeout_ms) {
  std::vector<hw::KfdEventData> events;
  u64 released = 0;
  {
    std::lock_guard lock(mutex_);
    if (hw_event_ == 0) return {};
    released = released_;
    events.resize(2 + signal_events_.size());
    events[0].event_id = memory_event_;
    events[1].event_id = hw_event_;
    for (usize i = 0; i < signal_events_.size(); ++i) events[2 + i].event_id = signal_events_[i];
  }
  hw::KfdWaitEvents arguments;
  arguments.events_ptr = reinterpret_cast<u64>(events.data());
  arguments.num_events = static_cast<u32>(events.size());
  arguments.timeout = timeout_ms;
  if (Result<void> waited = kfd_.call(arguments); !waited) {
    Error error = std::move(waited).error();
    if (error.os_errno == EINTR || error.os_errno == EAGAIN) return {};
    {
      // The kernel answers -EIO to a wait for an event that is destroyed meanwhile, -EINVAL to one
      // that comes later.
      // [Linux kfd_events.c, kfd_wait_on_events(), init_event_waiter()]
      std::lock_guard lock(mutex_);
      if (released != released_) return {};
    }
    std::string names;
    for (const hw::KfdEventData& event : events)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", event.event_id);
    error.message += "; of events " + names;
    return error;
  }
  if (arguments.wait_result == hw::kKfdWaitComplete) tell(std::span(events).first(2));
  return {};
}

// Data of an event that was not signalled stays as we gave it: zero, which is no GPU.
void KfdEvents::tell(std::span<const hw::KfdEventData> events) {
  const hw::KfdMemoryException& memory = events[0].memory_exception;
  const hw::KfdHwException& exception = events[1].hw_exception;
  std::lock_guard lock(listeners_mutex_);
  for (const Heard& heard : listeners_) {
    if (heard.gpu_id == memory.gpu_id) heard.listener->on_memory_exception(memory);
    if (heard.gpu_id == exception.gpu_id) heard.listener->on_hw_exception(exception);
    heard.listener->on_event();
  }
}

}  // namespace doorbell::amd
