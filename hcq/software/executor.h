// Executor: what a software queue runs its commands with. Each kind of device that has such queues
// implements one, with run_commands() of run_commands.h. For the choice of the thread, and for
// waits that cannot pass yet, see queue.h.
//
// Thread safety: run() by one thread at a time; all others by any.
// Memory ordering: a Wait or Poll that passes acquires; Signal and Write release.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <memory>
#include <string>

#include "hcq/queue/command_buffer.h"
#include "hcq/signal/timeline.h"
#include "hcq/software/command.h"

namespace doorbell::hcq {

// A command, as its cells lie in memory.
struct Command {
  const u64* cells;

  CommandHeader header() const {
    return decode<CommandHeader>(std::bit_cast<std::array<u32, 2>>(cells[0]));
  }
  u64 operand(u32 i) const { return cells[1 + i]; }
  template <class T>
  T* pointer(u32 i) const {
    return reinterpret_cast<T*>(operand(i));
  }
  const u64* next() const { return cells + header().cells; }
};

// Whether a Wait or Poll may pass.
bool may_pass(Command command);

class SoftwareQueue;
struct ResidentWords;

class Executor {
 public:
  // The submitter holds the locks of all queues that it submits to.
  enum class Caller : u8 { Submitter, Thread };

  virtual ~Executor() = default;

  // From `at` to `end`, of the submission that ends at `position`. Returns `end`, or a command that
  // cannot run now: a Wait or Poll that may not pass yet, or what a submitter must leave to the
  // queue's thread. What a kernel throws is thrown.
  virtual const u64* run(const u64* at, const u64* end, Position position, Caller caller) = 0;
  // The same of resident commands, from which an executor may make what runs them faster.
  virtual const u64* run_resident(ResidentWords&, const u64* at, const u64* end, Position position,
                                  Caller caller) {
    return run(at, end, position, caller);
  }
  // For the queue that this runs.
  virtual std::unique_ptr<CommandBuffer> make_commands() = 0;
  // What a run by the submitter got wrong, once; null: nothing. A run by the thread tells the queue
  // (fail_work).
  virtual std::unique_ptr<Error> take_error() { return nullptr; }
  // Whether this process can use the device; asked before each submission.
  virtual Result<void> usable() { return {}; }
  // Raises signals whose work has finished since they came up. Returns whether any are left: then
  // whoever waits must poll. Only for queues that have Parts::is_polled.
  virtual bool poll() { return false; }
  // The name of the kernel that runs, or empty.
  virtual std::string running() const { return {}; }

  // Drops work submitted up to `last`, except writes and signals. A running kernel ends between two
  // of its parts.
  void drop(Position last) { dropped_.store(last, std::memory_order_release); }
  bool drops(Position position) const {
    return position <= dropped_.load(std::memory_order_acquire);
  }

  // Once, by the queue that this runs.
  void set_queue(SoftwareQueue& queue) { queue_ = &queue; }

 protected:
  SoftwareQueue& queue() const { return *queue_; }

 private:
  SoftwareQueue* queue_ = nullptr;  // which owns this
  std::atomic<Position> dropped_{0};
};

}  // namespace doorbell::hcq
