// The thread of a queue: entries in order, waits, and dying with a reason.
#include <cxxabi.h>

#include <algorithm>

#include "hcq/software/queue.h"
#include "hcq/software/signal_event.h"

namespace doorbell::hcq {
namespace {

// Turns of Clock::relax, about 20 us: replays follow each other faster than a thread wakes.
constexpr u32 kSpins = 500;
// A sleeper looks this often whether it should stop.
constexpr u64 kSlice_ns = 20'000'000;

}  // namespace

void SoftwareQueue::work() {
  while (!stop_.load(std::memory_order_acquire)) {
    const u64 head = head_.load(std::memory_order_relaxed);
    if (tail_.load(std::memory_order_acquire) == head) {
      sleep(head);
      continue;
    }
    if (!run(entries_[head % kEntries])) return;
    head_.store(head + 1, std::memory_order_release);
  }
}

// Until there is an entry, or a while.
void SoftwareQueue::sleep(u64 head) {
  for (u32 turn = 0; turn < kSpins || is_watched(); ++turn) {
    if (tail_.load(std::memory_order_acquire) != head) return;
    if (stop_.load(std::memory_order_acquire)) return;
    clock().relax(turn);
  }
  const u32 seen = wake_.load(std::memory_order_seq_cst);
  sleeping_.store(true, std::memory_order_seq_cst);
  if (tail_.load(std::memory_order_seq_cst) == head && !stop_.load(std::memory_order_seq_cst) &&
      !is_watched())
    wake_.wait(seen, std::memory_order_seq_cst);
  sleeping_.store(false, std::memory_order_relaxed);
}

bool SoftwareQueue::run(const Entry& entry) {
  // Bound words end with a signal; once it is raised they may be gone.
  const u64 *at = entry.begin, *body = entry.end;
  if (entry.resident != nullptr) body -= kSignalCells;
  const u64 start = entry.resident != nullptr ? clock().now_ns() : 0;
  bool waited = false;
  while (true) {
    if (!survive(entry.position, entry.resident, &at, body, Executor::Caller::Thread)) return false;
    if (at == body) break;
    waited = true;
    if (!await({at}, entry.position)) return false;
  }
  if (entry.resident == nullptr) return true;
  // Words that wait for others are for this thread, so their cost stays unknown.
  if (!waited && !executor_->drops(entry.position))
    entry.resident->cost_ns = std::max<u64>(1, clock().now_ns() - start);
  executor_->run(body, entry.end, entry.position, Executor::Caller::Thread);
  return true;
}

bool SoftwareQueue::await(Command command, Position position) {
  for (u32 turn = 0; !may_pass(command) && !executor_->drops(position); ++turn) {
    if (stop_.load(std::memory_order_acquire)) return false;
    // What a Poll looks at anyone may write, and nobody tells.
    if (turn < kSpins || command.header().kind == CommandKind::Poll) {
      clock().relax(turn);
      continue;
    }
    auto& cell = *reinterpret_cast<SignalCell*>(command.operand(0));
    // What we wait for may itself wait for what we raise by polling.
    if (!cell.wakes_sleepers.load(std::memory_order_relaxed) || poll()) {
      clock().relax(turn);
      continue;
    }
    const u64 seen = cell.value.load(std::memory_order_acquire);
    if (seen < command.operand(1)) sleep_on(cell, seen, kSlice_ns);
  }
  return true;
}

bool SoftwareQueue::survive(Position position, ResidentWords* resident, const u64** at,
                            const u64* end, Executor::Caller caller) {
  try {
    *at = resident != nullptr ? executor_->run_resident(*resident, *at, end, position, caller)
                              : executor_->run(*at, end, position, caller);
    return true;
  } catch (const std::exception& error) {
    die(position, error.what());
  } catch (...) {
    // No type: not an exception, but the end of the thread, which must go on.
    const bool ends = abi::__cxa_current_exception_type() == nullptr;
    die(position, ends ? "its thread was ended" : "it threw what is no std::exception");
    if (ends) throw;
  }
  return false;
}

void SoftwareQueue::die(Position position, const char* what) {
  const Signal signal = timeline().signal_at(position).signal;
  const std::string kernel = executor_->running();
  fail_with(fail(ErrorKind::DeviceLost,
                 "{} died in kernel {} before position {} of {}: {}; its signal at {:#x} was {}",
                 title(), kernel.empty() ? "-" : kernel, position, timeline().last(), what,
                 signal.address().value, signal.value()));
  raise(signal.cell(), Signal::kDead);
}

}  // namespace doorbell::hcq
