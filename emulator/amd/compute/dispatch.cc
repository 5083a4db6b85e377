// User SGPRs as the packet processor sets them up for an AQL dispatch.
// Bits: [LLVM AMDGPUUsage, "code object v3 kernel descriptor", KERNEL_CODE_PROPERTIES]; order:
// [same, table "SGPR register set up order"].
#include "emulator/amd/compute/dispatch.h"

namespace doorbell::emu::amdgpu {

std::vector<u32> user_sgprs(u16 kernel_code_properties, const UserSgprSources& sources,
                            const std::vector<u32>& preload) {
  std::vector<u32> words;
  auto enabled = [&](u32 bit) { return (kernel_code_properties >> bit & 1) != 0; };
  auto put = [&](u64 value) {
    words.push_back(static_cast<u32>(value));
    words.push_back(static_cast<u32>(value >> 32));
  };
  if (enabled(0))
    words.insert(words.end(), sources.private_segment_buffer.begin(),
                 sources.private_segment_buffer.end());
  if (enabled(1)) put(sources.dispatch_packet);
  if (enabled(2)) put(sources.queue);
  if (enabled(3)) put(sources.kernel_arguments);
  if (enabled(4)) put(sources.dispatch_id);
  if (enabled(5)) put(sources.flat_scratch_init);
  if (enabled(6)) words.push_back(sources.private_segment_bytes);
  words.insert(words.end(), preload.begin(), preload.end());
  return words;
}

u32 waves_per_group(const Dispatch& dispatch) {
  const std::array<u32, 3>& size = dispatch.group_size;
  const u64 items = u64{size[0]} * size[1] * size[2], lanes = dispatch.wave32 ? 32 : 64;
  return static_cast<u32>((items + lanes - 1) / lanes);
}

}  // namespace doorbell::emu::amdgpu
