// SoftwareQueue: a queue that an Executor runs. Submissions go into a ring; a thread of the queue
// runs them in order, spinning a while and then sleeping when there are none. Adaptive: bound words
// that are known to run for less than `inline_ns` are run by the submitter itself while the queue
// is empty, because handing them over would cost more than they do.
//
// A forked child has no thread of its parent. Its queue starts another one, if no work was in
// flight when the process was forked; else it is dead, for what ran then may have run in part.
//
// Thread safety: as Queue; the thread of the queue is started by the first submission that
// needs it.
// Memory ordering: the submitter publishes with one store of `tail_`, acquired by the queue's
// thread; it publishes that it has passed an entry with `head_`. Both `tail_` and `sleeping_` are
// sequentially consistent, so that either the thread sees the entry or the submitter the sleeper.
#pragma once

#include <array>
#include <atomic>
#include <thread>

#include "base/os/fork.h"
#include "hcq/memory/argument_ring.h"
#include "hcq/queue/queue.h"
#include "hcq/software/executor.h"

namespace doorbell::hcq {

class SoftwareQueue final : public Queue {
 public:
  // `ring_bytes` hold the words of submissions that are not bound.
  static Result<std::unique_ptr<SoftwareQueue>> make(Parts parts,
                                                     std::unique_ptr<Executor> executor,
                                                     u64 inline_ns, i64 ring_bytes = 256 << 10);
  // Ends after the command that runs now; what was submitted beyond it is dropped.
  ~SoftwareQueue() override;

  // The work of the submission that ends at `position` failed: waits for it fail, and what it was
  // to write has no value. The queue goes on. For executors, before the signal is raised.
  void fail_work(Position position, const Error& why) { failed(position, why); }

  std::unique_ptr<CommandBuffer> make_commands() override { return executor_->make_commands(); }

 protected:
  Result<void> write(std::span<const Segment> segments, Position end) override;
  Result<void> failure() override;
  std::string running() override;
  bool can_drop() const override { return true; }
  void drop(Position last) override { executor_->drop(last); }
  bool poll() override { return executor_->poll(); }
  void watch(Position position) override;

 private:
  struct Entry {
    const u64 *begin = nullptr, *end = nullptr;
    ResidentWords* resident = nullptr;  // to learn its cost
    Position position = 0;              // the last of its submission
  };
  static constexpr usize kEntries = 1024;

  SoftwareQueue(Parts parts, Timeline timeline, std::unique_ptr<Executor> executor, u64 inline_ns);

  Result<void> own_failure();

  // ---- the submitter, under the lock of the queue -----------------------------------------------
  Result<bool> run_here(ResidentWords& bound, Position end);
  Result<void> add(const Entry& entry);
  Result<void> add_pieces(std::span<const Segment> segments, Position end);
  Result<const u64*> copy_words(std::span<const u32> words);
  void publish();
  void wake_thread();
  // Whether a device waits for a position whose signal is raised by polling.
  bool is_watched() {
    return timeline().now() < watched_until_.load(std::memory_order_seq_cst) && poll();
  }

  // In a forked child: forgets the parent's thread, and dies if it had work.
  void leave_parent();

  // ---- the thread -------------------------------------------------------------------------------
  void work();
  void sleep(u64 head);
  // False when the queue stops in it.
  bool run(const Entry& entry);
  bool await(Command command, Position position);
  // Runs commands from `at`, which moves on; `resident`: whose they are, or null. What a kernel
  // throws is the death of the queue: false.
  bool survive(Position position, ResidentWords* resident, const u64** at, const u64* end,
               Executor::Caller caller);
  void die(Position position, const char* what);

  const u64 inline_ns_;
  const std::unique_ptr<Executor> executor_;
  std::unique_ptr<ArgumentRing> words_;
  u64 added_ = 0;  // the submitter's tail, before it is published
  u32 runs_here_ = 0;
  std::array<Entry, kEntries> entries_;

  alignas(64) std::atomic<u64> tail_{0};
  std::atomic<bool> stop_{false};
  alignas(64) std::atomic<u64> head_{0};
  alignas(64) std::atomic<u32> wake_{0};
  std::atomic<bool> sleeping_{false};
  std::atomic<Position> watched_until_{0};

  std::atomic<u32> process_ = os::fork_depth();  // the process whose thread this is
  std::mutex process_mutex_;                     // guards leaving the parent's

  std::mutex thread_mutex_;  // guards starting thread_
  std::atomic<bool> has_thread_{false};
  std::unique_ptr<std::thread> thread_;  // last: it uses all of the above
};

}  // namespace doorbell::hcq
