// Calls of programs and allocators, and the signals behind them.
#include "hcq/software/launch_executor.h"

#include <absl/container/inlined_vector.h>

#include "base/util/try.h"
#include "hcq/software/buffer_addresses.h"
#include "hcq/software/command_buffer.h"
#include "hcq/software/launch_device.h"
#include "hcq/software/queue.h"
#include "hcq/software/run_commands.h"
#include "hcq/software/signal_event.h"

namespace doorbell::hcq {
namespace {

class LaunchCommandBuffer final : public SoftwareCommandBuffer {
 private:
  // The program itself checks its arguments.
  const void* program_of(const Launch& launch) const override { return launch.program; }
};

}  // namespace

std::unique_ptr<CommandBuffer> LaunchExecutor::make_commands() {
  return std::make_unique<LaunchCommandBuffer>();
}

Result<void> LaunchExecutor::usable() { return device_.usable(); }

const u64* LaunchExecutor::run(const u64* at, const u64* end, Position position, Caller caller) {
  begin(position, caller);
  return run_commands(*this, at, end, position);
}

// Of a device that cannot be used nothing runs, and signals are raised, because others may wait.
void LaunchExecutor::begin(Position position, Caller caller) {
  position_ = position;
  caller_ = caller;
  if (failed_at_ != position) note(device_.usable());
}

void LaunchExecutor::note(Result<void> done) {
  if (done) [[likely]]
    return;
  failed_at_ = position_;
  if (caller_ == Caller::Thread)
    queue().fail_work(position_, done.error());
  else if (error_ == nullptr)
    error_ = std::make_unique<Error>(std::move(done).error());
}

void LaunchExecutor::exec(Command command, Position) {
  const CommandHeader header = command.header();
  const u64* operand = command.cells + kExecCells;
  const u64 *variables = operand + header.buffers, *end = command.next();
  absl::InlinedVector<core::BufferView, 16> views;
  for (; operand != variables; ++operand) views.push_back(view_at(*operand));
  absl::InlinedVector<i64, 4> values;
  for (; operand != end; ++operand) values.push_back(static_cast<i64>(*operand));
  // A failed check must not be the end of the queue.
  try {
    note(command.pointer<core::Program>(0)->launch({views.data(), views.size()},
                                                   {values.data(), values.size()}));
  } catch (const Error& error) {
    note(error);
  }
}

const u64* LaunchExecutor::run_resident(ResidentWords& words, const u64* at, const u64* end,
                                        Position position, Caller caller) {
  begin(position, caller);
  if (words.compiled == nullptr) {
    words.compiled = std::make_unique<LaunchReplay>();
    return run_commands(*this, at, end, position);
  }
  auto& replay = static_cast<LaunchReplay&>(*words.compiled);
  if (replay.parts.empty()) replay.cut(at, end);
  for (LaunchReplay::Part& part : replay.parts) {
    if (part.end <= at) continue;
    if (at == part.begin && !drops(position) && run_batch(part)) {
      at = part.end;
      continue;
    }
    at = run_commands(*this, at, part.end, position);
    if (at != part.end) return at;
  }
  return at;
}

bool LaunchExecutor::run_batch(LaunchReplay::Part& part) {
  if (part.launches < kLeastBatch) return false;
  if (part.batch == nullptr) {
    Result<std::unique_ptr<LaunchBatch>> made = device_.make_batch(part.launches);
    if (!made || *made == nullptr) {
      part.launches = 0;
      return false;
    }
    part.batch = std::move(*made);
  }
  part.read();
  // A failed check must not be the end of the queue.
  try {
    Result<bool> launched = part.batch->launch(part.list);
    if (launched) return *launched;
    note(std::move(launched).error());
  } catch (const Error& error) {
    note(error);
  }
  return true;
}

bool LaunchExecutor::copy(Command command) {
  const core::BufferView to = view_at(command.operand(0)), from = view_at(command.operand(1));
  const auto is_elsewhere = [&](const core::Buffer& buffer) {
    return &buffer.device() != &device_ && buffer.host() == nullptr;
  };
  // The other device may use its own queues for it, which the submitter may have locked.
  if (caller_ == Caller::Submitter && (is_elsewhere(*to.buffer) || is_elsewhere(*from.buffer)))
    return false;
  note(core::copy_bytes(*to.buffer, to.offset, *from.buffer, from.offset,
                        static_cast<i64>(command.operand(2))));
  return true;
}

// To a buffer, or to memory of the queue.
void LaunchExecutor::write(Command command) {
  const u64 address = command.operand(0), value = command.operand(1);
  if (!is_numbered_address(address))
    return __atomic_store_n(command.pointer<u64>(0), value, __ATOMIC_RELEASE);
  const core::BufferView to = view_at(address);
  note(to.buffer->copy_in(&value, sizeof value, to.offset));
}

void LaunchExecutor::signal(Command command) {
  SignalCell& cell = *command.pointer<SignalCell>(0);
  if (failed_at_ == position_ && !device_.usable()) return raise(cell, command.operand(1));
  device_.submit_launches();
  const u64 value = command.operand(1), launch = device_.last_launch();
  if (launch == 0) {
    note(device_.finish());
    return raise(cell, value);
  }
  std::lock_guard lock(mutex_);
  unfinished_.push_back({&cell, value, launch, position_});
  if (unfinished_.size() >= poll_at_) {
    raise_finished();
    poll_at_ = unfinished_.size() + kPollEach;
  }
  // Whoever sleeps until it is raised must poll now.
  wake_sleepers(cell);
}

void LaunchExecutor::timestamp(Command command) {
  if (device_.usable()) note(device_.finish());
  *command.pointer<u64>(0) = clock_.now_ns();
}

bool LaunchExecutor::poll() {
  std::lock_guard lock(mutex_);
  if (unfinished_.empty() || !device_.usable()) return false;
  return raise_finished();
}

bool LaunchExecutor::raise_finished() {
  const u64 finished = device_.finished_launch();
  usize count = 0;
  while (count < unfinished_.size() && unfinished_[count].launch <= finished) ++count;
  if (count == 0) return true;
  if (Result<void> wrong = device_.launch_error(); !wrong)
    queue().fail_work(unfinished_.front().position, wrong.error());
  for (usize i = 0; i < count; ++i) {
    const Unfinished& one = unfinished_[i];
    // A later value of the same signal says more.
    if (i + 1 == count || unfinished_[i + 1].cell != one.cell) raise(*one.cell, one.value);
  }
  unfinished_.erase(unfinished_.begin(), unfinished_.begin() + static_cast<std::ptrdiff_t>(count));
  return !unfinished_.empty();
}

}  // namespace doorbell::hcq
