// Events as in the kernel; every function cites the kernel's.
#include "emulator/amd/kfd/events.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "emulator/amd/kfd/calling.h"
#include "emulator/amd/kfd/kfd_checks.h"

namespace doorbell::emu::amdgpu {
namespace {

// [kfd_events.h KFD_FIRST_NONSIGNAL_EVENT_ID]: ids are positive integers, slots the low ones.
constexpr u32 kFirstOther = 0x40000000, kLastOther = 0x7fffffff;
constexpr u32 kForever = ~u32{0};  // KFD_EVENT_TIMEOUT_INFINITE

}  // namespace

struct Events::Waiter {
  Event* event = nullptr;  // null: destroyed meanwhile
  bool activated = false;
  bool with_age = false;
  bool queued = false;  // counted in event->waiters
};

void Events::report(const Check& check, std::string message) {
  checks_.report(check, std::move(message));
}

int Events::refuse(const Check& check, int why, std::string message) {
  report(check, Calling::tell(std::move(message)));
  return why;
}

// [kfd_event_page_set()]
int Events::set_page(u8* host, u64 bytes) {
  std::lock_guard lock(mutex_);
  if (slots_) return refuse(kEventPage, EINVAL, "the page of event slots is set already");
  // The driver writes all slots, whatever the buffer's size.
  if (bytes < kSlots * 8)
    return refuse(
        kEventPage, EINVAL,
        fmt::format("the page of event slots is {:#x} bytes, expected {:#x}", bytes, kSlots * 8));
  slots_ = reinterpret_cast<u64*>(host);
  slot_count_ = bytes / 8;
  std::memset(slots_, 0xff, kSlots * 8);
  return 0;
}

bool Events::has_page() const {
  std::lock_guard lock(mutex_);
  return slots_ != nullptr;
}

Events::Event* Events::find(u32 id) {
  auto found = events_.find(id);
  return found == events_.end() ? nullptr : found->second.get();
}

bool Events::slot_signaled(u32 id) const {
  return std::atomic_ref(slots_[id]).load(std::memory_order_acquire) != kUnsignaled;
}

int Events::no_slot(u64 most) {
  return refuse(kEventId, ENOSPC, fmt::format("there are {} events of its kind, the most", most));
}

// [kfd_event_create(), create_signal_event(), create_other_event()]
int Events::create(u32 type, bool auto_reset, u32& id) {
  std::lock_guard lock(mutex_);
  bool with_slot =
      type == static_cast<u32>(EventType::Signal) || type == static_cast<u32>(EventType::Debug);
  u32 first = kFirstOther, last = kLastOther;
  if (with_slot) {
    if (!slots_) {
      // The oldest clients map 256 slots of a page that the driver allocates.
      own_slots_ = std::make_unique<u64[]>(kSlots);
      slots_ = own_slots_.get();
      slot_count_ = 256;
      std::memset(slots_, 0xff, kSlots * 8);
    }
    u64 limit = std::min<u64>(slot_count_, kSlots);
    if (signal_events_ >= limit) return no_slot(limit - 1);
    first = 1;
    last = static_cast<u32>(limit) - 1;
  }
  // The lowest id that is free, as the kernel's idr_alloc() gives.
  id = first;
  for (auto taken = events_.lower_bound(first); taken != events_.end() && taken->first == id;
       ++taken)
    ++id;
  if (id > last) return no_slot(last - first + 1);
  if (with_slot) {
    ++signal_events_;
    std::atomic_ref(slots_[id]).store(kUnsignaled, std::memory_order_release);
  }
  auto event = std::make_unique<Event>();
  event->id = id;
  event->type = static_cast<EventType>(type);
  event->auto_reset = auto_reset;
  events_.emplace(id, std::move(event));
  return 0;
}

// [kfd_event_destroy(), destroy_event()]: its waiters fail.
int Events::destroy(u32 id) {
  std::lock_guard lock(mutex_);
  Event* event = find(id);
  if (!event)
    return refuse(kEventId, EINVAL, fmt::format("event {} to destroy does not exist", id));
  for (std::vector<Waiter>* waiters : waiting_)
    for (Waiter& waiter : *waiters)
      if (waiter.event == event) waiter.event = nullptr;
  if (event->type == EventType::Signal || event->type == EventType::Debug) --signal_events_;
  events_.erase(id);
  changed_.notify_all();
  return 0;
}

// [set_event()]
void Events::signal(Event& event) {
  event.signaled = !event.auto_reset || event.waiters == 0;
  if (++event.age == 0) event.age = 2;  // 0 and 1 are reserved
  for (std::vector<Waiter>* waiters : waiting_)
    for (Waiter& waiter : *waiters)
      if (waiter.event == &event && waiter.queued) waiter.activated = true;
  changed_.notify_all();
}

// [kfd_set_event(): only event_can_be_cpu_signaled()]
int Events::set(u32 id) {
  std::lock_guard lock(mutex_);
  Event* event = find(id);
  if (!event || event->type != EventType::Signal)
    return refuse(
        kEventId, EINVAL,
        fmt::format("event {} to set {}", id,
                    event ? "is of a type that the kernel alone sets" : "does not exist"));
  signal(*event);
  return 0;
}

int Events::reset(u32 id) {
  std::lock_guard lock(mutex_);
  Event* event = find(id);
  if (!event || event->type != EventType::Signal)
    return refuse(
        kEventId, EINVAL,
        fmt::format("event {} to reset {}", id,
                    event ? "is of a type that the kernel alone sets" : "does not exist"));
  event->signaled = false;
  return 0;
}

// [init_event_waiter()]
int Events::start(std::span<EventWait> waits, std::vector<Waiter>& waiters) {
  for (usize i = 0; i < waits.size(); ++i) {
    Event* event = find(waits[i].id);
    if (!event)
      return refuse(kEventId, EINVAL,
                    fmt::format("event {} to wait for does not exist", waits[i].id));
    Waiter& waiter = waiters[i];
    waiter.event = event;
    waiter.activated = event->signaled;
    event->signaled = event->signaled && !event->auto_reset;
    if (event->type == EventType::Signal && waits[i].last_age) {
      waiter.with_age = true;
      if (event->age != waits[i].last_age) waiter.activated = true;
    }
    if (!waiter.activated) {
      waiter.queued = true;
      ++event->waiters;
    }
  }
  return 0;
}

// [test_event_condition()]
WaitResult Events::judge(const std::vector<Waiter>& waiters, bool all) const {
  usize activated = 0;
  for (const Waiter& waiter : waiters) {
    if (!waiter.event) return WaitResult::Fail;
    if (!waiter.activated) continue;
    if (!all) return WaitResult::Complete;
    ++activated;
  }
  return activated == waiters.size() ? WaitResult::Complete : WaitResult::Timeout;
}

// [copy_signaled_event_data(), free_waiters()]
int Events::finish(std::span<EventWait> waits, std::vector<Waiter>& waiters, WaitResult result) {
  int answer = 0;
  for (usize i = 0; i < waits.size(); ++i) {
    Waiter& waiter = waiters[i];
    if (!waiter.event) {
      if (result == WaitResult::Complete) answer = EINVAL;
      continue;
    }
    if (waiter.queued) --waiter.event->waiters;
    if (result != WaitResult::Complete || !waiter.activated) continue;
    waits[i].activated = true;
    waits[i].type = waiter.event->type;
    waits[i].memory = waiter.event->memory;
    waits[i].hardware = waiter.event->hardware;
    if (waiter.with_age) waits[i].last_age = waiter.event->age;
  }
  return answer;
}

// The host sleeps and nothing runs: reports what each queue waits for.
void Events::report_for_ever(std::unique_lock<std::mutex>& lock,
                             const std::vector<Waiter>& waiters) {
  std::vector<const u64*> slots;
  for (const Waiter& waiter : waiters)
    if (slots_ && waiter.event && waiter.event->id < kSlots)
      slots.push_back(&slots_[waiter.event->id]);
  lock.unlock();
  const std::string waits = waits_ ? waits_(slots) : "";
  lock.lock();
  report(kEventForever, fmt::format("{} events are waited for without end, and no queue of the "
                                    "machine can move{}{}",
                                    waiters.size(), waits.empty() ? "" : ": ", waits));
}

WaitResult Events::block(std::unique_lock<std::mutex>& lock, const std::vector<Waiter>& waiters,
                         bool all, u32 timeout_ms) {
  auto settled = [&] { return gone_ || judge(waiters, all) != WaitResult::Timeout; };
  if (advance_) {
    // Virtual time: either a GPU makes progress, or the timeout has passed.
    Advance last = Advance::Moved;
    u32 passed_ms = 0;
    while (last != Advance::Still && !settled() && passed_ms < timeout_ms) {
      lock.unlock();
      last = advance_();
      lock.lock();
      if (last == Advance::Busy && timeout_ms != kForever) ++passed_ms;
    }
    if (!settled() && timeout_ms == kForever)
      report_for_ever(lock, waiters);
    else if (pass_ && timeout_ms != kForever)
      pass_(u64{settled() ? passed_ms : timeout_ms} * 1'000'000);
  } else if (timeout_ms == kForever) {
    changed_.wait(lock, settled);
  } else {
    changed_.wait_for(lock, std::chrono::milliseconds(std::min(timeout_ms, 0x7fffffffu)), settled);
  }
  return gone_ ? WaitResult::Fail : judge(waiters, all);
}

// [kfd_wait_on_events()]
int Events::wait(std::span<EventWait> waits, bool all, u32 timeout_ms, WaitResult& result) {
  std::unique_lock lock(mutex_);
  std::vector<Waiter> waiters(waits.size());
  result = WaitResult::Fail;
  if (int answer = start(waits, waiters)) {
    finish(waits, waiters, result);
    return answer;
  }
  waiting_.push_back(&waiters);
  result = judge(waiters, all);
  if (result == WaitResult::Timeout && timeout_ms != 0)
    result = block(lock, waiters, all, timeout_ms);
  waiting_.erase(std::find(waiting_.begin(), waiting_.end(), &waiters));
  int answer = finish(waits, waiters, result);
  if (answer) result = WaitResult::Fail;
  return result == WaitResult::Fail && !answer ? EIO : answer;
}

// [set_event_from_interrupt()]
void Events::from_interrupt(Event& event) {
  if (event.type != EventType::Signal && event.type != EventType::Debug) return;
  std::atomic_ref(slots_[event.id]).store(kUnsignaled, std::memory_order_release);
  event.slot_seen = true;
  signal(event);
}

// [kfd_signal_event_interrupt(), lookup_signaled_event_by_partial_id()]
void Events::interrupt(u32 partial_id, unsigned valid_bits) {
  std::lock_guard lock(mutex_);
  if (!slots_) return;
  if (valid_bits && partial_id < kSlots) {
    u32 step = valid_bits > 31 || (u32{1} << valid_bits) >= kSlots ? kSlots : u32{1} << valid_bits;
    for (u32 id = partial_id; id < kSlots; id += step)
      if (slot_signaled(id))
        if (Event* event = find(id)) return from_interrupt(*event);
  }
  // The id did not identify an event: signal every event whose slot was written.
  u32 found = 0;
  for (auto& [id, event] : events_) {
    if (id >= kSlots) break;
    if (!slot_signaled(id)) continue;
    ++found;
    from_interrupt(*event);
  }
  // If two writes to a slot precede the handling of the first interrupt, the second one finds
  // nothing: interrupts coalesce.
  const Event* named = find(partial_id);
  if (partial_id && !(named && named->slot_seen))
    report(kEventMailbox,
           fmt::format("an interrupt names event {}, {}; {} other slots were signalled", partial_id,
                       named ? "whose slot was not written" : "which does not exist", found));
}

// [kfd_signal_vm_fault_event()]
void Events::memory_exception(const MemoryException& exception) {
  std::lock_guard lock(mutex_);
  for (auto& [id, event] : events_) {
    if (event->type != EventType::Memory) continue;
    event->memory = exception;
    signal(*event);
  }
}

// [kfd_signal_reset_event()]
void Events::hardware_exception(const HardwareException& exception) {
  std::lock_guard lock(mutex_);
  for (auto& [id, event] : events_) {
    if (event->type != EventType::HwException) continue;
    event->hardware = exception;
    signal(*event);
  }
}

void Events::shut_down() {
  std::lock_guard lock(mutex_);
  gone_ = true;
  changed_.notify_all();
}

}  // namespace doorbell::emu::amdgpu
