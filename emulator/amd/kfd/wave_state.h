// A preempted queue's save area in the kernel: how much of it is used, and for gfx9 the control
// stack, which stays in the kernel's memory until GET_QUEUE_WAVE_STATE copies it.
// [amdkfd/kfd_mqd_manager_v9.c, _v10.c, _v11.c, get_wave_state(), get_wave_state_v9_4_3()]
#pragma once

#include <span>
#include <vector>

#include "drivers/amd/hw/kfd.h"
#include "emulator/amd/compute/saved_context.h"
#include "emulator/amd/cp/queue_description.h"
#include "emulator/core/address_space.h"

namespace doorbell::emu::amdgpu {

class WaveState {
 public:
  // Writes the saved waves into the queue's area. `is_gfx9`: the control stack stays here.
  void save(const AddressSpace& space, const QueueDescription& queue, bool is_gfx9,
            std::span<const SavedContext> xccs);
  // GET_QUEUE_WAVE_STATE: copies each XCC's header to the client, and the stack if the kernel has
  // it.
  int tell(const QueueDescription& queue, amd::hw::KfdGetQueueWaveState& call) const;

 private:
  struct Xcc {
    std::vector<u32> stack;  // empty if it is in the area
    u32 stack_bytes = 0, state_bytes = 0;
  };
  std::vector<Xcc> xccs_;
};

}  // namespace doorbell::emu::amdgpu
