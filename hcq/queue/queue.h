// Queue: one hardware queue of a device, and its timeline. Order between queues,
// waiting on the host, draining before the timeline wraps, and giving memory back once the queue
// has passed it are done here; vendors place words and ring the doorbell.
//
// Thread safety: all functions may be called from any thread. Submissions of one queue go one after
// another, under its lock; no lock is shared with other queues. Lock several in the order of id().
// Memory ordering: what the host wrote before a submission is seen by it; what it wrote is seen by
// the host once wait() returns.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/os/clock.h"
#include "base/util/first_error.h"
#include "hcq/queue/command_buffer.h"
#include "hcq/queue/waits.h"
#include "hcq/signal/event.h"
#include "hcq/signal/fence.h"

namespace doorbell::hcq {

// Words in memory that the device reads. They may run any number of times.
struct ResidentWords {
  // What a queue made of the words, to run them faster.
  struct Compiled {
    virtual ~Compiled() = default;
  };

  core::Allocation memory;  // seen by the host
  u32 count = 0;            // words
  u32 total = 0;            // words and data
  // For the queue alone.
  u64 cost_ns = 0;  // of a run, as the queue measured it; 0: not yet
  std::unique_ptr<Compiled> compiled = nullptr;
};

// Part of a submission: words that are copied, or resident ones that are referred to.
struct Segment {
  std::span<const u32> words;
  ResidentWords* resident = nullptr;
  // What the words came from, where its data must be placed and its words relocated.
  const CommandBuffer* commands = nullptr;

  static Segment of(const CommandBuffer& commands) {
    return {commands.words(), nullptr, &commands};
  }
};

class Queue {
 public:
  // How long work may take before it counts as hanging, unless the device or the caller says else.
  static constexpr u64 kTimeout_ns = 30'000'000'000;

  // What a queue is made of, borrowed from its device.
  struct Parts {
    std::string device;       // name, for messages
    std::string name;         // "compute", "copy"
    core::Allocator* memory;  // for words and timestamps; the host sees it
    SignalPool* signals;
    os::Clock* clock;
    Event* event;  // null: the host only polls
    u64 timeline_limit = Timeline::kLimit;
    u64 timeout_ns = kTimeout_ns;
    // Threads of this process run it: they see all of the host's memory, and raise its signals.
    bool is_host = false;
    bool runs_at_once = false;  // before write() returns
    // Its signals change in memory only when this queue waits, so that others cannot wait for it,
    // nor does it see theirs.
    bool is_apart = false;
    // Its signals are raised by poll() alone: by threads of the host that wait, and by the queue
    // itself where devices wait (watch()).
    bool is_polled = false;
  };

  Queue(Parts parts, Timeline timeline);
  // Vendors have stopped the queue by then.
  virtual ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  const std::string& device_name() const { return parts_.device; }
  const std::string& name() const { return parts_.name; }
  u32 id() const { return id_; }  // in order of making
  core::Allocator& memory() const { return *parts_.memory; }

  virtual std::unique_ptr<CommandBuffer> make_commands() = 0;
  // Nanoseconds of the host's clock from the ticks that timestamp() writes.
  virtual u64 to_ns(u64 ticks) const { return ticks; }
  // What timestamp() writes, at a multiple of its size: its last 8 bytes are the ticks.
  virtual u32 timestamp_bytes() const { return 8; }

  // Runs `commands`, which hold no slots, after `after`. Returns where their end is. A launch or a
  // copy that comes first sees what earlier submissions to this queue wrote.
  Result<Point> submit(const CommandBuffer& commands, const Fence& after = {});

  Point last() { return {this, timeline_.last()}; }
  bool done(Position position) const {
    return timeline_.reached(position) == Timeline::Reached::Yes;
  }
  // Neither its words nor, where drivers keep what runs, memory is needed: but it may still run.
  bool has_read(Position position) const {
    return done(position) || position <= read_until_.load(std::memory_order_acquire);
  }
  // It died, and takes nothing any more; wait() says why.
  bool is_dead() const { return waits_->is_dead(); }
  // Nothing runs, and nothing waits to.
  bool idle() {
    const Position last = timeline_.last();
    if (done(last)) [[likely]]
      return true;
    if (!parts_.is_polled) return false;
    poll();
    return done(last);
  }
  // Spins, then blocks. Reports what went wrong on the queue, that it hangs, or that what it did
  // rests on another queue that died: the latter until synchronize() has told it.
  Result<void> wait(Position position, u64 timeout_ns);
  Result<void> wait(Position position) { return wait(position, parts_.timeout_ns); }
  // For room that is free when `position` is done, whatever was made of it.
  Result<void> wait_done(Position position) { return wait_done(position, parts_.timeout_ns); }
  // For `position` to be done, whatever was made of it. The thread may be asked to stop meanwhile
  // (base/util/stop.h), which may run code of the user's; then the queue abandons its work.
  Result<void> wait_or_stop(Position position);
  // All that was submitted, also to be stopped. Reports, once, what went wrong without stopping the
  // queue.
  Result<void> synchronize(u64 timeout_ns);
  Result<void> synchronize() { return synchronize(parts_.timeout_ns); }
  // Abandons submitted work that is not done, if the queue can: its positions will soon be done,
  // waits for them fail, and what they were to write has no value. What is submitted later runs.
  void abandon();
  // Part of abandoned work.
  bool was_abandoned(Position position) const { return waits_->was_abandoned(position); }
  // Told of abandoned work: mark() before any of it counts as done, under the queue's lock, then
  // settle() by the same thread without it. One for the process, set before queues are used.
  struct AbandonListener {
    void (*mark)(const Queue& queue, Position first, Position last);
    void (*settle)();
  };
  static void set_abandon_listener(const AbandonListener* listener);
  const Timeline& timeline() const { return timeline_; }
  // Gives memory() back once `position` is done; never waits.
  void release_after(Position position, const core::Allocation& memory) {
    retire({position, memory, nullptr});
  }
  // The same for words: until then the queue may also note what they cost.
  void release_after(Position position, std::unique_ptr<ResidentWords> words) {
    const core::Allocation memory = words->memory;
    retire({position, memory, std::move(words)});
  }

  // ---- for those who submit to several queues at once, in this order ----------------------------
  std::mutex& mutex() { return mutex_; }
  // The position before `count` new ones. Drains the queue where the timeline must start again.
  Result<Position> reserve(u64 count);
  // Words that wait for what is not done of `after`: the first segment of a submission, unless they
  // are empty. Valid until called again. Fails if a queue of `after` died before it reached its
  // position; then the caller skips.
  Result<Segment> waits_for(const Fence& after);
  // Makes the device run the segments one after another; `end` is last(), which the last word
  // raises. May wait for room. When this fails, the caller skips.
  virtual Result<void> write(std::span<const Segment> segments, Position end) = 0;
  // The segments wait for `point` by words of their own.
  void will_wait(const Point& point);
  // At the addresses that the other one has them at.
  bool sees_signals_of(const Queue& other) const {
    return parts_.signals == other.parts_.signals || (parts_.is_host && other.parts_.is_host);
  }
  bool can_wait_for(const Queue& other) const {
    if (sees_signals_of(other)) return true;
    return !parts_.is_apart && !other.parts_.is_apart && (parts_.is_host || other.parts_.is_host);
  }
  // Where this queue sees a signal of another one's timeline. Where that needs a mirror, either the
  // other queue is locked too, or it does not run at once.
  Result<GpuAddr> address_of(const Queue& other, const Signal& signal);
  // Raises last() without work: for callers that reserved and then cannot submit.
  void skip();

 protected:
  // Why the queue is dead; asked before each submission and each wait that blocks.
  virtual Result<void> failure() { return failure_.check(); }
  // The queue runs nothing any more, because of `why`, to which the device's name is added. The
  // first call counts, and returns true; then the caller stores Signal::kDead.
  bool fail_with(Error why);
  bool has_failed() const { return failure_.is_set(); }
  // Whether drop() does something.
  virtual bool can_drop() const { return false; }
  // Skips work that was submitted up to `last`, and raises its signals soon. The queue is locked.
  virtual void drop(Position last) { (void)last; }
  // With Parts::is_polled: raises signals whose work has finished. Returns whether any are left.
  virtual bool poll() { return false; }
  // With Parts::is_polled: a device waits for the position, so that the queue must poll itself. No
  // lock of this queue need be held.
  virtual void watch(Position position) { (void)position; }
  // What it does now ("kernel sum_16_4"), for the message of a hang; may be empty.
  virtual std::string running() { return {}; }

  // Records waits for what is not done of `after` into `commands`, which belong to the submission
  // that is being made. Fails if a queue of `after` died before it reached its position.
  Result<void> add_waits(const Fence& after, CommandBuffer& commands);

  // The queue runs nothing any more. Vendors call this before they store Signal::kDead; fail_with()
  // does so.
  void died(const Error& why) { waits_->died(timeline_.now(), why); }

  // Where words are read before their work is done: they were, up to this position.
  void set_read(Position position) { read_until_.store(position, std::memory_order_release); }
  // The work of a submission failed, though its signals will be raised. Waits for it fail, and
  // synchronize() reports it once. Call before the last of its signals is raised.
  void failed(Position position, const Error& why);

  bool is_polled() const { return parts_.is_polled; }
  os::Clock& clock() const { return *parts_.clock; }
  // "CPU:1 copy queue".
  std::string title() const;

 private:
  struct Retired {
    Position position;
    core::Allocation memory;
    std::unique_ptr<ResidentWords> words;  // whose memory it is, or null
  };
  void retire(Retired retired);
  // Raises last(); valid until called again.
  Segment end_piece();
  Result<void> wait_done(Position position, u64 timeout_ns);
  // How long work may take now: a queue that waits for a slower one has that one's patience.
  u64 patience_ns(u64 timeout_ns) const;
  Result<void> wait_slow(Position position, u64 timeout_ns, bool may_stop);
  // The same, as of this device.
  Result<void> own(Result<void> result) const;
  Error hang(Position position, u64 timeout_ns);
  Error dead(Position position);
  void sweep();

  const Parts parts_;
  const u32 id_;
  std::mutex mutex_;  // guards the timeline's end and what follows
  Timeline timeline_;
  Position first_ = 0;  // of the submission that is being made
  // The last submission that waits for a queue whose work may take longer, and how long that is.
  std::atomic<Position> patient_until_{0};
  std::atomic<u64> longest_ns_{0};
  std::atomic<Position> read_until_{0};
  // shared_ptr: queues that wait for this one may outlive it.
  const std::shared_ptr<Waits> waits_;
  FirstError failure_;
  std::unique_ptr<CommandBuffer> prefix_, suffix_;  // made at first use

  std::mutex retired_mutex_;  // guards what follows
  std::vector<Retired> retired_;
  std::atomic<bool> has_retired_{false};  // so that sweeping nothing costs nothing
};

}  // namespace doorbell::hcq
