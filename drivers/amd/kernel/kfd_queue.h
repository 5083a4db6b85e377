// KfdQueue: a hardware queue as the kernel makes it: ring, pointers, end-of-pipe buffer, the area
// into which waves are saved, the doorbell. See ../queue.h for what is
// written into the ring.
//
// Queues may outnumber the hardware's: the kernel then maps them in turn, and a doorbell of one
// that is not mapped is seen when it is.
//
// Thread safety: one thread at a time, but for stop(), resume() and saved_waves(), which another
// may call.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "base/os/mmio.h"
#include "drivers/amd/caps.h"
#include "drivers/amd/hw/aql.h"
#include "drivers/amd/hw/saved_waves.h"
#include "drivers/amd/kernel/kfd_gpu.h"

namespace doorbell::amd {

enum class QueueType : u8 { Pm4, Aql, Sdma };

class KfdQueue {
 public:
  // What the command processor copies of an AQL queue with the first packet after the queue was put
  // on the hardware, which CREATE_QUEUE does; later changes it does not see. It raises the signal
  // `errors` when it stops with an error.
  struct Aql {
    hw::AmdQueue descriptor;
    hw::AmdSignal errors;
  };
  // `ring_bytes` is a power of two.
  static Result<std::unique_ptr<KfdQueue>> make(KfdGpu& gpu, const Caps& caps, QueueType type,
                                                u64 ring_bytes, const Aql& aql = {});
  // Destroys the queue and abandons what it runs.
  ~KfdQueue();
  KfdQueue(const KfdQueue&) = delete;
  KfdQueue& operator=(const KfdQueue&) = delete;

  u32 id() const { return id_; }
  QueueType type() const { return type_; }
  std::span<u32> ring() const {
    return {reinterpret_cast<u32*>(ring_->host()), ring_->bytes() / sizeof(u32)};
  }
  // Holds the pointers of any queue; that of an AQL queue tells of scratch memory, too.
  hw::AmdQueue& descriptor() const { return *reinterpret_cast<hw::AmdQueue*>(pointers_->host()); }
  // Why an AQL queue stopped. Other queues report errors through the kernel's events only: the
  // kernel's other way is a save area at the same address for GPU and host, which ours is not.
  hw::QueueError error() const;
  const KfdMemory* save_area() const { return save_area_.get(); }

  // Announces that the ring is written up to `write_pointer` and rings with `doorbell`, in the
  // units of its type. What was written to memory before is seen first.
  void ring_doorbell(u64 write_pointer, u64 doorbell) {
    std::atomic_ref<u64>(descriptor().write_dispatch_id)
        .store(write_pointer, std::memory_order_release);
    os::fence_writes();
    doorbell_.write64(0, doorbell);
  }
  u64 read_pointer() const;
  u64 write_pointer() const;
  // Takes the queue off the hardware: its waves are saved, nothing of it runs any more.
  Result<void> stop() { return set_percentage(0); }
  // Puts it back: its waves go on from where they were.
  Result<void> resume() { return set_percentage(hw::kKfdMaxQueuePercentage); }
  // Abandons what it runs and what is in the ring: the queue is destroyed and created again over
  // the same memory, with pointers of 0 and another doorbell.
  Result<void> restart();
  // The waves of a compute queue that stands still, stopped or evicted by the kernel, of all XCCs.
  // Their registers are borrowed from the save area, which the next stop() changes.
  Result<std::vector<hw::SavedWave>> saved_waves();

 private:
  KfdQueue(KfdGpu& gpu, const Caps& caps, QueueType type);
  Result<void> allocate(u64 ring_bytes, const Aql& aql);
  void describe(const Aql& aql);
  Result<void> create();
  Result<void> destroy();
  void clear_ring();
  Result<void> set_percentage(u32 percentage);
  void write_save_header(const hw::KfdGetQueueWaveState& used);

  KfdGpu& gpu_;
  const Caps& caps_;
  const QueueType type_;
  const SaveArea area_;
  std::unique_ptr<KfdMemory> ring_, pointers_, eop_, save_area_;
  u32 id_ = 0;
  bool is_created_ = false;
  os::Mmio doorbell_;
};

}  // namespace doorbell::amd
