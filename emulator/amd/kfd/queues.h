// Queues of the process: the checks of CREATE_QUEUE, doorbells, and the assignment to engines, as
// in drivers/gpu/drm/amd/amdkfd/kfd_queue.c and kfd_process_queue_manager.c.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "drivers/amd/hw/kfd.h"
#include "emulator/amd/kfd/buffers.h"
#include "emulator/amd/kfd/wave_state.h"

namespace doorbell::emu::amdgpu {

// Thread safety: from any thread; ring() takes no lock. Functions that return int give 0 or an
// errno.
class Queues {
 public:
  static constexpr u32 kDoorbells = 1024;  // of 8 bytes, in two pages per GPU

  // `doorbells` is the memory of KFD's node, in which each device has its pages. `polled`: the
  // engines poll them, because stores cannot be trapped.
  Queues(std::span<const std::unique_ptr<Device>> devices, Buffers& buffers, Checks& checks,
         Backing& doorbells, bool polled);
  ~Queues();

  // Checks the arguments of CREATE_QUEUE that do not depend on its GPU; then those that do.
  int judge(const amd::hw::KfdCreateQueue& arguments) const;
  int create(u32 gpu, amd::hw::KfdCreateQueue& arguments);
  int destroy(u32 id);
  int update(const amd::hw::KfdUpdateQueue& arguments);
  int set_cu_mask(u32 id);
  // ALLOC_QUEUE_GWS.
  int set_wave_sync(u32 id, bool wanted);
  // GET_QUEUE_WAVE_STATE, for a queue that is not active.
  int wave_state(amd::hw::KfdGetQueueWaveState& arguments) const;
  bool exists(u32 id) const;
  bool any() const;
  // Descriptions of queues that were never destroyed: "queue 3 (PM4) of GPU 0".
  std::vector<std::string> left() const;

  // A store to the doorbell pages of this GPU.
  void ring(u32 gpu, u64 offset, unsigned bytes, u64 value);
  u64 doorbell(u32 gpu, u64 offset) const;

  // Stops the process's queues on this GPU, as after a fault.
  // [kfd_dqm_evict_pasid()]
  void evict(u32 gpu);
  // Call at the end of the process. Returns the number of remaining queues.
  usize destroy_all();

  std::atomic<bool> trap_registers{false};  // RUNTIME_ENABLE requested them

  // The id of the process's queue behind an engine's number, for reports. ~0: none.
  u32 id_of(u32 gpu, QueueId engine_id) const;

 private:
  using Lock = std::lock_guard<std::mutex>;
  struct Queue {
    u32 gpu = 0, id = 0;
    QueueId engine_id = 0;
    QueueDescription description;
    u32 doorbell = 0;     // slot
    u32 sdma_number = 0;  // SDMA: engine and queue in it
    bool sdma = false, xgmi = false;
    bool wave_sync = false;  // has global wave sync by the kernel's bookkeeping
    WaveState waves;         // saved by the last preemption
    std::vector<u64> held;   // addresses of the buffers it uses
  };
  struct Bells {
    bool evicted = false;                            // all queues are stopped, future ones too
    std::array<std::atomic<i64>, kDoorbells> queue;  // the engine's number, or -1
  };

  int refuse(const Check& check, int why, std::string message) const;
  u32 target_xcc(u32 gpu, u32 percentage) const;
  int judge_target(u32 gpu, QueueKind kind, u32 percentage) const;
  int judge_alignment(const amd::hw::KfdCreateQueue& arguments) const;
  int judge_sizes(u32 gpu, const amd::hw::KfdCreateQueue& arguments) const;
  int hold(Queue& queue, u64 va, u64 bytes, const char* what);
  int hold_buffers(Queue& queue, const amd::hw::KfdCreateQueue& arguments);
  int choose_sdma(Queue& queue, const amd::hw::KfdCreateQueue& arguments);
  int choose_doorbell(Queue& queue) const;
  void release(Queue& queue);
  // The queue was unmapped from the hardware.
  void save_waves(Queue& queue);
  void judge_end(const Queue& queue) const;

  std::span<const std::unique_ptr<Device>> devices_;
  Buffers& buffers_;
  Checks& checks_;
  Backing& doorbells_;
  bool polled_;
  std::vector<std::unique_ptr<Bells>> bells_;  // per GPU
  mutable std::mutex mutex_;                   // guards the members below
  std::map<u32, std::unique_ptr<Queue>> queues_;
};

}  // namespace doorbell::emu::amdgpu
