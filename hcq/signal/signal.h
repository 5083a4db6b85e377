// Signal: a number in memory that host and devices both see; one side raises it, others wait for
// it. SignalPool hands them out. See timeline.h for what a queue counts.
//
// Some devices see only memory that is mapped for them. For these a signal that the host raises can
// have mirrors: signals of their own pool that are raised with it.
//
// Thread safety: all functions may be called from any thread, beside devices.
// Memory ordering: store() and a device's signal command release what was written before; value()
// acquires it. A mirror is linked before the value is read into it, and looked for after the value
// is stored: with both sequentially consistent, no value is missed.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include <absl/container/flat_hash_map.h>

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
  // Whoever sleeps is woken by whoever raises it. Not so where a device does: look again and again.
  std::atomic<bool> wakes_sleepers{true};
  std::atomic<SignalCell*> mirror{nullptr};  // the first; each names the next

  void store(u64 new_value) {
    value.store(new_value, std::memory_order_seq_cst);
    if (SignalCell* first = mirror.load(std::memory_order_seq_cst)) [[unlikely]]
      first->raise_mirrors(new_value);
  }
  // Of this mirror and the next ones.
  void raise_mirrors(u64 new_value);
};
static_assert(sizeof(SignalCell) == 64);

class Signal {
 public:
  // The value of a signal whose owner died. The host's waits for it fail. Those of devices, which
  // only compare, pass, so that the devices stay alive: hcq/queue/waits.h reports what they did.
  // The largest number for devices that compare with or without a sign, 64 bits or the lower 32.
  static constexpr u64 kDead = ~u64{0} >> 1;

  Signal() = default;
  Signal(SignalCell* cell, GpuAddr address) : cell_(cell), address_(address) {}

  u64 value() const { return cell_->value.load(std::memory_order_acquire); }
  // By the host. Sequentially consistent: whoever goes to sleep looks once more.
  void store(u64 value) const { cell_->store(value); }
  GpuAddr address() const { return address_; }
  SignalCell& cell() const { return *cell_; }
  explicit operator bool() const { return cell_ != nullptr; }

 private:
  SignalCell* cell_ = nullptr;  // of the pool
  GpuAddr address_;
};

class SignalPool {
 public:
  enum class RaisedBy : u8 { Host, Device };

  // `memory` gives memory that the host sees, and outlives the pool.
  explicit SignalPool(core::Allocator& memory, RaisedBy raised_by = RaisedBy::Host)
      : memory_(memory), raised_by_(raised_by) {}
  ~SignalPool();
  SignalPool(const SignalPool&) = delete;
  SignalPool& operator=(const SignalPool&) = delete;

  // A signal of value 0.
  Result<Signal> make();
  // For the next make(): nobody may wait for it any more.
  void release(Signal signal);
  // The mirror in this pool of a signal of another pool, which the host raises; made when first
  // asked for. Neither pool is closed while a queue uses the signal.
  Result<Signal> mirror_of(SignalPool& other, const Signal& signal);

 private:
  static constexpr i64 kBlock = 4096;
  struct Mirror {
    Signal signal;
    SignalPool* source;
  };
  void forget_mirrors_of(const SignalPool& source);

  core::Allocator& memory_;
  const RaisedBy raised_by_;
  std::mutex mutex_;  // guards what follows
  std::vector<core::Allocation> blocks_;
  std::vector<Signal> free_;
  // Under the mutex of all pools' mirrors.
  absl::flat_hash_map<SignalCell*, Mirror> mirrors_;  // of signals of other pools
  std::vector<SignalPool*> mirrored_in_;              // pools with mirrors of ours
};

}  // namespace doorbell::hcq
