// LaunchExecutor: runs the commands of a LaunchDevice's queue through its programs and allocator.
// Addresses are those of buffer_addresses.h.
//
// Launches may still run when a signal comes up. Where the device can tell what has finished, the
// signal is kept, and raised by whoever looks first (poll()) once the work before it has; so that
// no submission waits for the device. Otherwise the device finishes first.
//
// Thread safety: as Executor; poll() from any thread.
#pragma once

#include <deque>
#include <mutex>

#include "base/os/clock.h"
#include "hcq/software/executor.h"
#include "hcq/software/launch_batch.h"

namespace doorbell::hcq {

class LaunchDevice;

class LaunchExecutor final : public Executor {
 public:
  LaunchExecutor(LaunchDevice& device, os::Clock& clock) : device_(device), clock_(clock) {}

  const u64* run(const u64* at, const u64* end, Position position, Caller caller) override;
  const u64* run_resident(ResidentWords& words, const u64* at, const u64* end, Position position,
                          Caller caller) override;
  std::unique_ptr<CommandBuffer> make_commands() override;
  std::unique_ptr<Error> take_error() override { return std::move(error_); }
  Result<void> usable() override;
  bool poll() override;

  // ---- for run_commands() -----------------------------------------------------------------------
  void exec(Command command, Position position);
  bool copy(Command command);
  void write(Command command);
  void signal(Command command);
  void timestamp(Command command);
  // Also what comes after a command that failed.
  bool drops(Position position) const {
    return position == failed_at_ || Executor::drops(position);
  }

 private:
  struct Unfinished {
    SignalCell* cell;
    u64 value;
    u64 launch;  // which must have finished
    Position position;
  };
  void begin(Position position, Caller caller);
  // So that the list stays short where nobody waits, and asking costs little.
  static constexpr usize kPollEach = 128;
  // False: the launches must be made one by one.
  bool run_batch(LaunchReplay::Part& part);
  // Notes an error of the submission that runs.
  void note(Result<void> done);
  bool raise_finished();

  LaunchDevice& device_;
  os::Clock& clock_;
  // Of the thread that runs commands.
  Position position_ = 0, failed_at_ = 0;
  Caller caller_ = Caller::Thread;
  std::unique_ptr<Error> error_;

  std::mutex mutex_;  // guards what follows, and raising
  std::deque<Unfinished> unfinished_;
  usize poll_at_ = kPollEach;
};

}  // namespace doorbell::hcq
