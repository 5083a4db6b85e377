// The position of each XCC's part, and the headers' contents.
#include "emulator/amd/kfd/wave_state.h"

#include <cerrno>
#include <cstring>

#include "emulator/core/user_memory.h"

namespace doorbell::emu::amdgpu {

namespace hw = amd::hw;

namespace {

bool put(const AddressSpace& space, u64 va, const void* from, usize bytes) {
  if (bytes == 0) return true;
  u8* host = space.at(va, bytes, true);
  if (host) std::memcpy(host, from, bytes);
  return host != nullptr;
}

}  // namespace

void WaveState::save(const AddressSpace& space, const QueueDescription& queue, bool is_gfx9,
                     std::span<const SavedContext> xccs) {
  xccs_.clear();
  for (usize i = 0; i < xccs.size(); ++i) {
    const std::vector<u32> stack = xccs[i].stack();
    const std::vector<u8>& state = xccs[i].state;
    const usize stack_bytes = stack.size() * sizeof(u32);
    // Stack and state grow in opposite directions from a common start.
    const u64 middle =
        queue.context_save + i * queue.context_save_bytes + queue.control_stack_bytes;
    Xcc& xcc = xccs_.emplace_back();
    // A queue without a save area loses its waves.
    if (queue.context_save == 0 || !put(space, middle, state.data(), state.size())) continue;
    if (!is_gfx9 && !put(space, middle - stack_bytes, stack.data(), stack_bytes)) continue;
    if (is_gfx9) xcc.stack = stack;
    xcc.stack_bytes = static_cast<u32>(stack_bytes);
    xcc.state_bytes = static_cast<u32>(state.size());
  }
}

int WaveState::tell(const QueueDescription& queue, hw::KfdGetQueueWaveState& call) const {
  // A queue that was never preempted has saved nothing.
  const u32 middle = static_cast<u32>(queue.control_stack_bytes);
  call.ctl_stack_used_size = call.save_area_used_size = 0;
  for (usize i = 0; i < xccs_.size(); ++i) {
    const Xcc& xcc = xccs_[i];
    const u64 part = call.ctl_stack_address + i * queue.context_save_bytes;
    // The first four words: the client writes the others.
    const u32 header[] = {middle - xcc.stack_bytes, xcc.stack_bytes, middle + xcc.state_bytes,
                          xcc.state_bytes};
    if (!copy_out(part, header, sizeof header)) return EFAULT;
    if (!xcc.stack.empty() &&
        !copy_out(part + header[0], xcc.stack.data(), xcc.stack.size() * sizeof(u32)))
      return EFAULT;
    // With several XCCs, the first one's sizes are returned.
    if (i > 0) continue;
    call.ctl_stack_used_size = xcc.stack_bytes;
    call.save_area_used_size = xcc.state_bytes;
  }
  return 0;
}

}  // namespace doorbell::emu::amdgpu
