// DispatchJudge: what must hold of a dispatch before its grid starts. Each check is false when the
// queue has stopped over it.
#pragma once

#include <optional>
#include <vector>

#include "drivers/amd/hw/abi/kernel_descriptor.h"
#include "emulator/amd/cp/queue_part.h"

namespace doorbell::emu::amdgpu {

class DispatchJudge : private QueuePart {
 public:
  DispatchJudge(Queue& queue, GpuContext& gpu) : QueuePart(queue, gpu), last_entry_(gpu.xccs, 0) {}

  // Of every dispatch, however it came.
  bool check_group(const Dispatch& dispatch);
  bool check_arguments(u64 va, u32 bytes);
  // Of one that came by registers, with its kernel's descriptor if that was found.
  bool check_registers(const Dispatch& dispatch, const ShRegisters& registers,
                       const std::optional<amd::hw::KernelDescriptor>& descriptor);

 private:
  bool check_written(const ShRegisters& registers);
  bool check_user_data(const Dispatch& dispatch, const ShRegisters& registers,
                       const std::optional<amd::hw::KernelDescriptor>& descriptor);
  bool check_descriptor(const Dispatch& dispatch, const amd::hw::KernelDescriptor& descriptor);
  bool check_scratch(const Dispatch& dispatch, const amd::hw::KernelDescriptor& descriptor);

  std::vector<u64> last_entry_;  // of each XCC's last dispatch by registers
};

}  // namespace doorbell::emu::amdgpu
