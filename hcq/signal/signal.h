// Signal: a number in memory that host and devices both see; one side raises it, others wait for
// it. SignalPool hands them out. See timeline.h for what a queue counts.
//
// Thread safety: all functions may be called from any thread, beside devices.
// Memory ordering: store() and a device's signal command release what was written before; value()
// acquires it.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "core/device/allocator.h"
#include "hcq/queue/operand.h"

namespace doorbell::hcq {

// The memory of one signal, a cache line of its own.
struct alignas(64) SignalCell {
  std::atomic<u64> value{0};
  std::atomic<u64> timestamp{0};  // devices that stamp their signals do it here
  // For devices that are threads of this process: who sleeps until the value changes.
  std::atomic<u32> sleepers{0};
  std::atomic<u32> wakes{0};
};
static_assert(sizeof(SignalCell) == 64);

class Signal {
 public:
  // The value of a signal whose owner died. The host's waits for it fail. Those of devices, which
  // only compare, pass, so that the devices stay alive: hcq/queue/waits.h reports what they did.
  static constexpr u64 kDead = ~u64{0};

  Signal() = default;
  Signal(SignalCell* cell, GpuAddr address) : cell_(cell), address_(address) {}

  u64 value() const { return cell_->value.load(std::memory_order_acquire); }
  // By the host. Sequentially consistent: whoever goes to sleep looks once more.
  void store(u64 value) const { cell_->value.store(value, std::memory_order_seq_cst); }
  GpuAddr address() const { return address_; }
  SignalCell& cell() const { return *cell_; }
  explicit operator bool() const { return cell_ != nullptr; }

 private:
  SignalCell* cell_ = nullptr;  // of the pool
  GpuAddr address_;
};

class SignalPool {
 public:
  // `memory` gives memory that the host sees, and outlives the pool.
  explicit SignalPool(core::Allocator& memory) : memory_(memory) {}
  ~SignalPool();
  SignalPool(const SignalPool&) = delete;
  SignalPool& operator=(const SignalPool&) = delete;

  // A signal of value 0.
  Result<Signal> make();
  // For the next make(): nobody may wait for it any more.
  void release(Signal signal);

 private:
  static constexpr i64 kBlock = 4096;

  core::Allocator& memory_;
  std::mutex mutex_;  // guards what follows
  std::vector<core::Allocation> blocks_;
  std::vector<Signal> free_;
};

}  // namespace doorbell::hcq
