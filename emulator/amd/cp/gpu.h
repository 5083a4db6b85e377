// One emulated GPU: its queues, what they have in flight, and when each of them runs. See
// compute_queue.h and sdma_queue.h for packets, emulator/amd/compute for waves, and
// emulator/amd/kfd, which calls in here, for ioctls and events.
//
// Free-running, a thread of the GPU's own works while a doorbell announces work, and sleeps
// otherwise. In lockstep there is no thread: the doors call run_until_idle(), and a seed decides
// every choice that hardware leaves open, so that a run repeats exactly.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/util/result.h"
#include "drivers/amd/hw/generation.h"
#include "emulator/amd/compute/saved_context.h"
#include "emulator/amd/cp/queue_description.h"

namespace doorbell::emu {
class AddressSpace;
class AgentRaces;
class Checks;
class Trace;
class UndefinedMemory;
}  // namespace doorbell::emu

namespace doorbell::emu::amdgpu {

class Caches;
class Launcher;
class MemoryObserver;
class PacketHook;

struct GpuOptions {
  amd::hw::Generation generation = amd::hw::Generation::Gfx11;
  u32 xccs = 1;           // of the partition
  u32 engines = 1;        // shader engines of each XCC
  u32 compute_units = 0;  // of all XCCs, and the waves of each; 0: not judged
  u32 waves_per_unit = 0;
  bool scratch_reclaim = false;          // firmware knows amd_queue_v2_t (aql_scratch.cc)
  u32 lds_unit = 512;                    // bytes per unit of RSRC2's LDS_SIZE
  u32 lds_bytes = 65536;                 // that a work group may have
  u32 compute_slots = ~u32{0};           // compute queues that are mapped at a time
  int index = 0;                         // of this GPU in the trace
  const AddressSpace* memory = nullptr;  // all borrowed, and outlive the Gpu
  Interrupts* interrupts = nullptr;
  Checks* checks = nullptr;
  Launcher* launcher = nullptr;          // runs the grids
  Trace* trace = nullptr;                // or null: no trace
  PacketHook* hook = nullptr;            // or null: packets run as written
  UndefinedMemory* undefined = nullptr;  // or null: not followed
  MemoryObserver* observer = nullptr;    // or null: nobody asks
  AgentRaces* races = nullptr;           // of the machine; or null: not judged
  bool lockstep = false;                 // no thread; run_until_idle() does the work
  bool adversarial = false;              // the weakest legal hardware: see caches.h, pipeline.h
  // A grid that has run so many wave instructions hangs, as the kernel sees it when a queue cannot
  // be preempted; 0: no limit.
  u64 hang_after = 0;
  u64 seed = 0;
};

// Thread safety: every function may be called from any thread.
// Memory ordering: what a client wrote before it stored the doorbell's value is seen by the queue.
class Gpu {
 public:
  explicit Gpu(const GpuOptions& options);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  Result<QueueId> add_queue(const QueueDescription& description);
  // Waits for nothing: what the queue has in flight is abandoned, as the kernel's preemption does.
  Result<void> remove_queue(QueueId id);
  // UPDATE_QUEUE: a new ring, percentage or priority; position and state stay.
  Result<void> update_queue(QueueId id, const QueueDescription& description);

  // What a queue that stands still has of waves, by XCC, as far as its save area has room.
  Result<std::vector<SavedContext>> save_waves(QueueId id, const SaveOptions& options) const;

  // The client stored `value` at the queue's doorbell, with a store of `bytes`. A doorbell of no
  // queue (removed, never made) is a broken rule, which is reported, and no error.
  void ring(QueueId id, u64 value, unsigned bytes = 8);
  // Memory that a queue may be polling has changed behind the GPU's back (the host, another GPU).
  void poke();

  // Lockstep: goes on until every queue is empty, stopped, or waits for others; or, which is
  // Busy, until waves have run about `patience` instructions and nothing else happened: they may be
  // waiting for the host.
  enum class Rest : u8 { Idle, Moved, Busy };
  Rest run_until_rest(u64 patience);
  // However long it takes. True if any of them moved.
  bool run_until_idle() { return run_until_rest(~u64{0}) != Rest::Idle; }
  // Lockstep: every queue has one turn.
  bool run_once();
  // Of each queue that polls memory: where it is, and what for.
  struct Wait {
    std::string what;
    const u8* memory = nullptr;  // of the host; null: it waits for work of its own
  };
  std::vector<Wait> waits();
  // Adversarial: what is wrong with a wait for these bytes, if their newest value has never left
  // the L2; and the same of any memory of the host. Else "".
  std::string unwritten(const u8* memory, u64 bytes);
  std::string unwritten_host_memory();

  // [start, end) is mapped no more. Returns when no access to the old mapping is under way, and no
  // cache holds anything of it.
  void unmapped(u64 start, u64 end);

  // The caches of the adversarial mode, for tests; null in the fast one.
  Caches* caches();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Lockstep with several GPUs: until none of them moves, or one is busy.
Gpu::Rest run_until_rest(std::span<Gpu* const> gpus, u64 patience);

}  // namespace doorbell::emu::amdgpu
