// Submitting, waiting, draining.
#include "hcq/queue/queue.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/util/check.h"
#include "base/util/stop.h"
#include "base/util/try.h"

namespace doorbell::hcq {
namespace {

// Turns of Clock::relax before the host blocks: some 20 us.
constexpr u32 kSpins = 1000;
// A sleeper looks again this often: it may be asked to stop, and an event lost with its device.
constexpr u64 kSlice_ns = 20'000'000;

constinit std::atomic<u32> next_id{0};
constinit std::atomic<const Queue::AbandonListener*> abandon_listener{nullptr};

}  // namespace

Queue::Queue(Parts parts, Timeline timeline)
    : parts_(std::move(parts)),
      id_(next_id.fetch_add(1, std::memory_order_relaxed)),
      timeline_(std::move(timeline)),
      waits_(std::make_shared<Waits>(title())) {}

Queue::~Queue() {
  waits_->close(timeline_.now());
  // Where a queue may still have a wait for it in its ring, the signals stay the pool's to the end.
  if (idle() && waits_.use_count() == 1) timeline_.release();
  for (const Retired& retired : retired_) memory().release(retired.memory);
}

bool Queue::fail_with(Error why) {
  why.device = device_name();
  if (!failure_.set(why)) return false;
  died(why);
  return true;
}

std::string Queue::title() const { return fmt::format("{} {} queue", parts_.device, parts_.name); }

Result<Position> Queue::reserve(u64 count) {
  if (!timeline_.fits(count)) [[unlikely]] {
    // Positions that other queues wait for are all submitted, so this ends.
    TRY(wait_done(timeline_.last()));
    TRY(timeline_.restart());
  }
  const Position before = timeline_.reserve(count);
  first_ = before + 1;
  return before;
}

void Queue::will_wait(const Point& point) {
  waits_->add(first_, timeline_.last(), point.queue->waits_, point.position, timeline_.now());
  if (point.queue->parts_.is_polled) point.queue->watch(point.position);
  const u64 theirs = point.queue->parts_.timeout_ns;
  if (theirs <= parts_.timeout_ns) return;
  longest_ns_.store(std::max(theirs, longest_ns_.load(std::memory_order_relaxed)),
                    std::memory_order_relaxed);
  patient_until_.store(timeline_.last(), std::memory_order_release);
}

Result<GpuAddr> Queue::address_of(const Queue& other, const Signal& signal) {
  if (parts_.signals == other.parts_.signals) return signal.address();
  if (parts_.is_host) return GpuAddr{reinterpret_cast<u64>(&signal.cell())};
  if (!other.parts_.is_host)
    return fail(ErrorKind::Unsupported, "the {} cannot see signals of the {}", title(),
                other.title());
  TRY(const Signal mirror, parts_.signals->mirror_of(*other.parts_.signals, signal));
  return mirror.address();
}

Result<void> Queue::add_waits(const Fence& after, CommandBuffer& commands) {
  for (const Point& point : after) {
    if (point.queue == this) continue;  // its own past is behind it
    const Queue& other = *point.queue;
    TRY(own(other.waits_->check_for_others(point.position, other.timeline_.now())));
    if (other.done(point.position)) continue;
    if (other.parts_.runs_at_once) {  // another thread submits to it now
      TRY(point.queue->wait_done(point.position));
      continue;
    }
    const Timeline::SignalValue target = other.timeline_.signal_at(point.position);
    TRY(const GpuAddr address, address_of(other, target.signal));
    will_wait(point);
    commands.wait(address, target.value);
  }
  return {};
}

Result<Segment> Queue::waits_for(const Fence& after) {
  if (after.empty()) return Segment{};
  if (!prefix_) prefix_ = make_commands();
  prefix_->clear();
  TRY(add_waits(after, *prefix_));
  return Segment::of(*prefix_);
}

Result<Point> Queue::submit(const CommandBuffer& commands, const Fence& after) {
  CHECK(commands.patches().empty() && commands.data_patches().empty(),
        "commands with slots must be resident");
  std::lock_guard lock(mutex_);
  TRY(const Position before, reserve(1));
  Result<Segment> waits = waits_for(after);
  Result<void> written;
  if (waits) {
    const Segment all[] = {*waits, Segment::of(commands), end_piece()};
    written = write(std::span(all).subspan(waits->words.empty() ? 1 : 0), before + 1);
  } else {
    written = std::move(waits).error();
  }
  if (written) return Point{this, before + 1};
  skip();
  return std::move(written).error();
}

Segment Queue::end_piece() {
  if (!suffix_) suffix_ = make_commands();
  suffix_->clear();
  const Timeline::SignalValue end = timeline_.signal_at(timeline_.last());
  suffix_->signal(end.signal.address(), end.value);
  return Segment::of(*suffix_);
}

void Queue::skip() {
  const Segment segments[] = {end_piece()};
  (void)write(segments, timeline_.last());  // ignore failure: the queue is already lost
}

Result<void> Queue::wait(Position position, u64 timeout_ns) {
  TRY(wait_done(position, timeout_ns));
  return own(waits_->check(position, timeline_.now()));
}

Result<void> Queue::wait_done(Position position, u64 timeout_ns) {
  if (done(position)) return {};
  return wait_slow(position, timeout_ns, false);
}

Result<void> Queue::wait_or_stop(Position position) {
  if (done(position)) return {};
  return wait_slow(position, parts_.timeout_ns, true);
}

Result<void> Queue::own(Result<void> result) const {
  if (!result) [[unlikely]]
    result.error().device = parts_.device;
  return result;
}

u64 Queue::patience_ns(u64 timeout_ns) const {
  const bool is_patient = timeline_.now() < patient_until_.load(std::memory_order_acquire);
  if (!is_patient || timeout_ns < parts_.timeout_ns) return timeout_ns;
  return std::max(timeout_ns, longest_ns_.load(std::memory_order_relaxed));
}

Result<void> Queue::wait_slow(Position position, u64 timeout_ns, bool may_stop) {
  u64 start = 0;
  bool is_long = false;
  for (u32 turn = 0;; ++turn) {
    const bool is_left = parts_.is_polled && poll();
    const Timeline::SignalValue target = timeline_.signal_at(position);
    const u64 seen = target.signal.value();
    const Timeline::Reached reached = timeline_.reached(position);
    if (reached == Timeline::Reached::Yes) return {};
    if (reached == Timeline::Reached::Dead || is_dead()) return dead(position);
    if (turn == 0) {
      if (Result<void> alive = failure(); !alive) return dead(position);
      start = clock().now_ns();
    }
    if (turn < kSpins) {
      clock().relax(turn);
      continue;
    }
    const u64 now = clock().now_ns(), limit = patience_ns(timeout_ns);
    if (is_long && limit == timeout_ns) start = now;  // what it waited for is done
    is_long = limit > timeout_ns;
    const u64 passed = now - start;
    if (passed >= limit) return hang(position, limit);
    if (parts_.event == nullptr || is_left) {
      clock().relax(turn);
    } else if (Result<void> woken =
                   parts_.event->block(target.signal, seen, std::min(kSlice_ns, limit - passed));
               !woken) {
      Error error =
          fail(woken.error().kind, "the wait for the {}: {}", title(), woken.error().message);
      error.os_errno = woken.error().os_errno;
      error.device = parts_.device;
      return error;
    }
    if (may_stop && stop_asked()) {
      abandon();
      return fail(ErrorKind::Timeout, "the wait for the {} was stopped", title());
    }
  }
}

void Queue::abandon() {
  const AbandonListener* listener = abandon_listener.load(std::memory_order_acquire);
  {
    std::lock_guard lock(mutex_);
    const Position now = timeline_.now(), last = timeline_.last();
    if (now == last || is_dead() || !can_drop()) return;
    waits_->abandon(now + 1, last);
    if (listener != nullptr) listener->mark(*this, now + 1, last);
    drop(last);
  }
  if (listener != nullptr) listener->settle();
}

void Queue::failed(Position position, const Error& why) {
  waits_->fail(position, why);
  if (const AbandonListener* listener = abandon_listener.load(std::memory_order_acquire))
    listener->mark(*this, position, position);
}

void Queue::set_abandon_listener(const AbandonListener* listener) {
  abandon_listener.store(listener, std::memory_order_release);
}

Result<void> Queue::synchronize(u64 timeout_ns) {
  const Position last = timeline_.last();
  if (!done(last)) TRY(wait_slow(last, timeout_ns, true));
  sweep();
  TRY(own(waits_->report(last, timeline_.now())));
  return failure();
}

Error Queue::dead(Position position) {
  Result<void> why = failure();
  Error error = why ? fail(ErrorKind::DeviceLost, "{} died before position {}", title(), position)
                    : std::move(why).error();
  error.device = parts_.device;
  return error;
}

Error Queue::hang(Position position, u64 timeout_ns) {
  const Timeline::SignalValue target = timeline_.signal_at(position);
  std::string now = running();
  if (!now.empty()) now = "; it runs " + now;
  Error error = fail(ErrorKind::Timeout,
                     "{} hangs: position {} of {} not reached in {} ms, its signal at {:#x} is {}, "
                     "awaited {}{}",
                     title(), position, timeline_.last(), timeout_ns / 1'000'000,
                     target.signal.address().value, target.signal.value(), target.value, now);
  error.device = parts_.device;
  return error;
}

void Queue::retire(Retired retired) {
  {
    std::lock_guard lock(retired_mutex_);
    retired_.push_back(std::move(retired));
    has_retired_.store(true, std::memory_order_relaxed);
  }
  sweep();
}

void Queue::sweep() {
  if (!has_retired_.load(std::memory_order_relaxed)) return;
  std::lock_guard lock(retired_mutex_);
  std::erase_if(retired_, [&](const Retired& retired) {
    if (!done(retired.position)) return false;
    memory().release(retired.memory);
    return true;
  });
  has_retired_.store(!retired_.empty(), std::memory_order_relaxed);
}

}  // namespace doorbell::hcq
