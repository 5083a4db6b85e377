// Signals are cut from pages: a queue needs one each 2^31 submissions. Mirrors are rarer still: one
// for each signal that a device waits for without seeing it.
#include "hcq/signal/signal.h"

#include <algorithm>
#include <new>

#include "base/util/check.h"
#include "base/util/try.h"

namespace doorbell::hcq {
namespace {

// Guards which pools mirror which.
constinit std::mutex mirrors_mutex;

// Two threads may raise one: whoever makes it, and the owner of the original.
void raise_to(std::atomic<u64>& value, u64 least) {
  u64 now = value.load(std::memory_order_relaxed);
  while (now < least && !value.compare_exchange_weak(now, least, std::memory_order_seq_cst)) {
  }
}

}  // namespace

void SignalCell::raise_mirrors(u64 new_value) {
  for (SignalCell* cell = this; cell != nullptr; cell = cell->mirror.load()) {
    // 0 begins a new life of the signal.
    if (new_value == 0)
      cell->value.store(0, std::memory_order_seq_cst);
    else
      raise_to(cell->value, new_value);
  }
}

SignalPool::~SignalPool() {
  std::lock_guard lock(mirrors_mutex);
  for (SignalPool* pool : mirrored_in_) pool->forget_mirrors_of(*this);
  for (const auto& [cell, mirror] : mirrors_) {
    std::erase(mirror.source->mirrored_in_, this);
    std::atomic<SignalCell*>* link = &cell->mirror;
    while (link->load() != &mirror.signal.cell()) link = &link->load()->mirror;
    link->store(mirror.signal.cell().mirror.load());
  }
  for (const core::Allocation& block : blocks_) memory_.release(block);
}

Result<Signal> SignalPool::make() {
  std::lock_guard lock(mutex_);
  if (free_.empty()) {
    TRY(core::Allocation block, memory_.allocate(kBlock));
    CHECK(block.host != nullptr, "memory for signals that the host cannot see");
    blocks_.push_back(block);
    constexpr i64 kSize = sizeof(SignalCell);
    for (i64 offset = kBlock - kSize; offset >= 0; offset -= kSize) {
      auto* cell = new (static_cast<u8*>(block.host) + offset) SignalCell;
      cell->wakes_sleepers.store(raised_by_ == RaisedBy::Host, std::memory_order_relaxed);
      free_.emplace_back(cell, GpuAddr{block.address + static_cast<u64>(offset)});
    }
  }
  const Signal signal = free_.back();
  free_.pop_back();
  signal.store(0);
  return signal;
}

void SignalPool::release(Signal signal) {
  std::lock_guard lock(mutex_);
  free_.push_back(signal);
}

Result<Signal> SignalPool::mirror_of(SignalPool& other, const Signal& signal) {
  CHECK(&other != this && other.raised_by_ == RaisedBy::Host,
        "a mirror of a signal that the host does not raise");
  std::lock_guard lock(mirrors_mutex);
  SignalCell& cell = signal.cell();
  if (const auto found = mirrors_.find(&cell); found != mirrors_.end()) return found->second.signal;
  TRY(const Signal mirror, make());
  mirror.cell().mirror.store(cell.mirror.load());
  cell.mirror.store(&mirror.cell());
  raise_to(mirror.cell().value, signal.value());
  mirrors_.emplace(&cell, Mirror{mirror, &other});
  if (std::ranges::find(other.mirrored_in_, this) == other.mirrored_in_.end())
    other.mirrored_in_.push_back(this);
  return mirror;
}

void SignalPool::forget_mirrors_of(const SignalPool& source) {
  for (auto at = mirrors_.begin(); at != mirrors_.end();) {
    const auto here = at++;
    if (here->second.source != &source) continue;
    here->second.signal.cell().mirror.store(nullptr);
    release(here->second.signal);
    mirrors_.erase(here);
  }
}

}  // namespace doorbell::hcq
