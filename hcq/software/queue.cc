// The submitter's side of the ring. See queue_thread.cc for the side of the thread.
#include "hcq/software/queue.h"

#include <algorithm>
#include <cstring>

#include "base/util/check.h"
#include "base/util/try.h"
#include "hcq/software/signal_event.h"

namespace doorbell::hcq {
namespace {

const u64* cells_of(const ResidentWords& bound) {
  return static_cast<const u64*>(bound.memory.host);
}

}  // namespace

Result<std::unique_ptr<SoftwareQueue>> SoftwareQueue::make(Parts parts,
                                                           std::unique_ptr<Executor> executor,
                                                           u64 inline_ns, i64 ring_bytes) {
  parts.is_host = true;
  TRY(Timeline timeline, Timeline::make(*parts.signals, parts.timeline_limit));
  std::unique_ptr<SoftwareQueue> queue(
      new SoftwareQueue(std::move(parts), std::move(timeline), std::move(executor), inline_ns));
  TRY(queue->words_, ArgumentRing::make(*queue, ring_bytes));
  return queue;
}

SoftwareQueue::SoftwareQueue(Parts parts, Timeline timeline, std::unique_ptr<Executor> executor,
                             u64 inline_ns)
    : Queue(std::move(parts), std::move(timeline)),
      inline_ns_(inline_ns),
      executor_(std::move(executor)) {
  executor_->set_queue(*this);
}

SoftwareQueue::~SoftwareQueue() {
  stop_.store(true, std::memory_order_seq_cst);
  wake_.fetch_add(1, std::memory_order_seq_cst);
  wake_.notify_all();
  if (process_.load() != os::fork_depth()) leave_parent();
  if (thread_ != nullptr) thread_->join();
  // Unblock waiters of dropped work.
  if (head_.load() == tail_.load()) return;
  died(fail(ErrorKind::DeviceLost, "the {} was closed before position {}", title(),
            timeline().last()));
  raise(timeline().signal_at(timeline().last()).signal.cell(), Signal::kDead);
}

Result<void> SoftwareQueue::write(std::span<const Segment> segments, Position end) {
  // Only skip() writes unbound words alone: other queues may wait for that end, even where the
  // device cannot be used any more.
  const bool is_end = segments.size() == 1 && segments[0].resident == nullptr;
  TRY(is_end ? own_failure() : failure());
  if (segments.size() == 1 && segments[0].resident != nullptr) {
    TRY(const bool is_done, run_here(*segments[0].resident, end));
    if (is_done) return {};
  }
  Result<void> added = add_pieces(segments, end);
  if (!added) {
    added_ = tail_.load(std::memory_order_relaxed);  // what was not published never was
    return added;
  }
  words_->retire(end);
  publish();
  return {};
}

Result<void> SoftwareQueue::add_pieces(std::span<const Segment> segments, Position end) {
  for (const Segment& segment : segments) {
    Entry entry;
    entry.position = end;
    entry.resident = segment.resident;
    if (segment.resident != nullptr) {
      entry.begin = cells_of(*segment.resident);
      entry.end = entry.begin + segment.resident->count / 2;
    } else {
      TRY(entry.begin, copy_words(segment.words));
      entry.end = entry.begin + segment.words.size() / 2;
    }
    TRY(add(entry));
  }
  return {};
}

// False where the words belong to the queue's thread.
Result<bool> SoftwareQueue::run_here(ResidentWords& bound, Position end) {
  // Only who holds the lock adds entries, so an empty ring stays empty meanwhile.
  if (bound.cost_ns == 0 || bound.cost_ns > inline_ns_ ||
      head_.load(std::memory_order_acquire) != added_)
    return false;
  constexpr u32 kMeasureEach = 16;
  const bool measure = runs_here_++ % kMeasureEach == 0;
  const u64 start = measure ? clock().now_ns() : 0;
  const u64* at = cells_of(bound);
  const u64 *last = at + bound.count / 2, *body = last - kSignalCells;
  if (!survive(end, &bound, &at, body, Executor::Caller::Submitter))
    return true;  // told at the next synchronise
  if (std::unique_ptr<Error> error = executor_->take_error()) return std::move(*error);
  if (at != body) {
    // A wait whose time has not come, or work for the thread: it takes over from there.
    Result<void> added = add({at, last, nullptr, end});
    CHECK(added.has_value(), "an empty ring is full");
    publish();
    return true;
  }
  if (measure) bound.cost_ns = std::max<u64>(1, clock().now_ns() - start);
  executor_->run(body, last, end, Executor::Caller::Submitter);
  if (std::unique_ptr<Error> error = executor_->take_error()) return std::move(*error);
  if (is_polled()) set_read(end);
  if (watched_until_.load(std::memory_order_seq_cst) >= end) [[unlikely]]
    wake_thread();
  return true;
}

Result<const u64*> SoftwareQueue::copy_words(std::span<const u32> words) {
  if (words.empty()) return nullptr;
  TRY(const ArgumentRing::Location location, words_->allocate(words.size_bytes(), sizeof(u64)));
  std::memcpy(location.host, words.data(), words.size_bytes());
  return reinterpret_cast<const u64*>(location.host);
}

Result<void> SoftwareQueue::add(const Entry& entry) {
  while (added_ - head_.load(std::memory_order_acquire) == kEntries) {
    publish();
    // The oldest entry's end, so that the entries pass while we wait.
    TRY(wait_done(entries_[added_ % kEntries].position));
    std::this_thread::yield();  // its signal comes a moment before head_
  }
  entries_[added_++ % kEntries] = entry;
  return {};
}

void SoftwareQueue::publish() {
  tail_.store(added_, std::memory_order_seq_cst);
  wake_thread();
}

void SoftwareQueue::watch(Position position) {
  Position before = watched_until_.load(std::memory_order_relaxed);
  while (before < position && !watched_until_.compare_exchange_weak(before, position)) {
  }
  wake_thread();
}

void SoftwareQueue::wake_thread() {
  if (!has_thread_.load(std::memory_order_acquire)) [[unlikely]] {
    std::lock_guard lock(thread_mutex_);
    if (thread_ == nullptr) thread_ = std::make_unique<std::thread>([this] { work(); });
    has_thread_.store(true, std::memory_order_release);
  }
  if (!sleeping_.load(std::memory_order_seq_cst)) return;
  wake_.fetch_add(1, std::memory_order_seq_cst);
  wake_.notify_one();
}

Result<void> SoftwareQueue::own_failure() {
  if (process_.load(std::memory_order_acquire) != os::fork_depth()) [[unlikely]]
    leave_parent();
  return Queue::failure();
}

Result<void> SoftwareQueue::failure() {
  TRY(own_failure());
  return executor_->usable();
}

void SoftwareQueue::leave_parent() {
  bool had_work = false;
  {
    std::lock_guard lock(process_mutex_);
    if (process_.load(std::memory_order_relaxed) == os::fork_depth()) return;
    (void)thread_.release();  // it can neither be joined nor detached here
    has_thread_.store(false, std::memory_order_relaxed);
    sleeping_.store(false, std::memory_order_relaxed);
    had_work = head_.load() != tail_.load() && !has_failed();
    process_.store(os::fork_depth(), std::memory_order_release);
  }
  if (had_work)
    fail_with(
        fail(ErrorKind::DeviceLost,
             "the {} had work in flight when this process was forked, which a forked process "
             "cannot wait for; synchronize before fork(), or start the process with spawn or exec",
             title()));
}

std::string SoftwareQueue::running() {
  const std::string name = executor_->running();
  return name.empty() ? "" : "kernel " + name;
}

}  // namespace doorbell::hcq
