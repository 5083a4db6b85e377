// Executor: runs the commands of one queue, one after another, on the calling thread. For the
// choice of the thread, and for waits that cannot pass yet, see queue.h.
//
// Thread safety: run() by one thread at a time; running(), drop() and drops() by any.
// Memory ordering: a Wait or Poll that passes acquires; Signal and Write release.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <string>

#include "base/os/clock.h"
#include "hcq/signal/timeline.h"
#include "hcq/software/command.h"

namespace doorbell::cpu {

using hcq::CommandKind;

// A command, as its cells lie in memory.
struct Command {
  const u64* cells;

  hcq::CommandHeader header() const {
    return decode<hcq::CommandHeader>(std::bit_cast<std::array<u32, 2>>(cells[0]));
  }
  u64 operand(u32 i) const { return cells[1 + i]; }
  const u64* next() const { return cells + header().cells; }
};

// Whether a Wait or Poll may pass.
bool may_pass(Command command);

class Executor {
 public:
  explicit Executor(os::Clock& clock) : clock_(clock) {}

  // From `at` to `end`, of the submission that ends at `position`. Returns `end`, or the Wait or
  // Poll that may not pass yet. What a kernel throws is thrown.
  const u64* run(const u64* at, const u64* end, hcq::Position position);

  // Drops work submitted up to `last`, except writes and signals. A running kernel ends between two
  // of its parts.
  void drop(hcq::Position last) { dropped_.store(last, std::memory_order_release); }
  bool drops(hcq::Position position) const {
    return position <= dropped_.load(std::memory_order_acquire);
  }

  // The name of the kernel that runs, or null. Owned by the device.
  const std::string* running() const { return running_.load(std::memory_order_relaxed); }

 private:
  void exec(Command command, hcq::Position position) const;

  os::Clock& clock_;
  std::atomic<hcq::Position> dropped_{0};
  std::atomic<const std::string*> running_{nullptr};
};

}  // namespace doorbell::cpu
