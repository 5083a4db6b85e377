// What must hold of a dispatch (dispatch_judge.h). [asic_reg/gc/gc_*_sh_mask.h COMPUTE_*; LLVM
// AMDGPUUsage "Kernel Dispatch"]
#include "emulator/amd/cp/dispatch_judge.h"

#include <algorithm>

#include "drivers/amd/hw/program_registers.h"
#include "emulator/amd/cp/rules.h"

namespace doorbell::emu::amdgpu {

namespace hw = amd::hw;

namespace {

// What a driver may add to the compiler's RSRC1 and RSRC2: PRIV, which keeps a debugger's context
// save away (tinygrad ops_amd.py), the LDS of the launch, and the trap handler's bit.
u32 compilers_rsrc1(u32 rsrc1) {
  constexpr u32 kDrivers = encode(hw::ComputePgmRsrc1{.priority = 3, .priv = true})[0] &
                           ~encode(hw::ComputePgmRsrc1{})[0];
  return rsrc1 & ~kDrivers;
}

u32 compilers_rsrc2(u32 rsrc2) {
  constexpr u32 kDrivers = encode(hw::ComputePgmRsrc2{.trap_present = true, .lds_size = 0x1ff})[0] &
                           ~encode(hw::ComputePgmRsrc2{})[0];
  return rsrc2 & ~kDrivers;
}

// Where the kernel is told that its private memory lies, or 0: gfx10 has no register for it, and
// the values stand in user SGPRs. [LLVM AMDGPUUsage "Initial Kernel Execution State"]
u64 scratch_in_sgprs(const Dispatch& dispatch, const hw::KernelDescriptor& descriptor) {
  const std::vector<u32>& sgprs = dispatch.user_sgprs;
  if (descriptor.enable_sgpr_private_segment_buffer && sgprs.size() >= 4)
    return sgprs[0] | u64{sgprs[1] & 0xffff} << 32;
  usize at = (descriptor.enable_sgpr_dispatch_ptr ? 2 : 0) +
             (descriptor.enable_sgpr_queue_ptr ? 2 : 0) +
             (descriptor.enable_sgpr_kernarg_segment_ptr ? 2 : 0) +
             (descriptor.enable_sgpr_dispatch_id ? 2 : 0);
  if (descriptor.enable_sgpr_flat_scratch_init && sgprs.size() >= at + 2)
    return sgprs[at] | u64{sgprs[at + 1]} << 32;
  return 0;
}

// User SGPRs that the kernel finds something in. [LLVM AMDGPUUsage KERNEL_CODE_PROPERTIES]
u32 values_of(const hw::KernelDescriptor& descriptor) {
  return (descriptor.enable_sgpr_private_segment_buffer ? 4 : 0) +
         (descriptor.enable_sgpr_dispatch_ptr ? 2 : 0) +
         (descriptor.enable_sgpr_queue_ptr ? 2 : 0) +
         (descriptor.enable_sgpr_kernarg_segment_ptr ? 2 : 0) +
         (descriptor.enable_sgpr_dispatch_id ? 2 : 0) +
         (descriptor.enable_sgpr_flat_scratch_init ? 2 : 0) +
         (descriptor.enable_sgpr_private_segment_size ? 1 : 0) + descriptor.kernarg_preload_length;
}

}  // namespace

bool DispatchJudge::check_arguments(u64 va, u32 bytes) {
  if (bytes == 0) return true;
  if (va % 16 != 0 && report_violation(kArgumentAlignment, fmt::format("arguments at {:#x}", va)))
    return false;
  return gpu_.memory.in_one_mapping(va, bytes) ||
         !report_violation(kArgumentMapped, fmt::format("{} bytes at {:#x}: {}", bytes, va,
                                                        gpu_.memory.space().describe(va)));
}

bool DispatchJudge::check_group(const Dispatch& dispatch) {
  const auto& size = dispatch.group_size;
  u64 items = u64{size[0]} * size[1] * size[2];
  bool fits = items >= 1 && items <= 1024 && std::ranges::max(size) <= 1024;
  if (!fits && report_violation(kDispatchGroup,
                                fmt::format("a group of {} x {} x {}", size[0], size[1], size[2])))
    return false;
  // No compute unit ever has room for such a group, so it would be waited for without end.
  return dispatch.lds_bytes <= gpu_.lds_bytes ||
         !report_violation(kDispatchLdsLimit, fmt::format("{} bytes of LDS, a group may have {}",
                                                          dispatch.lds_bytes, gpu_.lds_bytes));
}

bool DispatchJudge::check_written(const ShRegisters& registers) {
  const hw::Register* const kNeeded[] = {&hw::kComputePgmLo, &hw::kComputePgmRsrc1,
                                         &hw::kComputePgmRsrc2, &hw::kComputeNumThreadX};
  for (const hw::Register* needed : kNeeded)
    if (!registers.was_written(needed->at(gpu_.generation)) &&
        report_violation(kDispatchInherited, fmt::format("{} was never written", needed->name)))
      return false;
  return true;
}

// A kernel that follows itself may keep its arguments: resident commands do. A descriptor may count
// more user SGPRs than it has values for. [LLVM AMDGPU.td FeatureUserSGPRInit16Bug]
bool DispatchJudge::check_user_data(const Dispatch& dispatch, const ShRegisters& registers,
                                    const std::optional<hw::KernelDescriptor>& descriptor) {
  const u32 first = hw::kComputeUserData0.at(gpu_.generation);
  for (u32 i = descriptor ? values_of(*descriptor) : hw::kUserDataRegisters;
       i < hw::kUserDataRegisters; ++i)
    if (registers.is_fresh(first + i) && registers.read(first + i) != 0 &&
        report_violation(kDispatchUnread,
                         fmt::format("COMPUTE_USER_DATA_{} is {:#x}, of which the descriptor knows "
                                     "nothing",
                                     i, registers.read(first + i))))
      return false;
  if (last_entry_[dispatch.xcc] == dispatch.code) return true;
  u32 read = static_cast<u32>(dispatch.user_sgprs.size());
  if (descriptor) read = std::min(read, values_of(*descriptor));
  for (u32 i = 0; i < read; ++i)
    if (!registers.is_fresh(hw::kComputeUserData0.at(gpu_.generation) + i))
      return !report_violation(
          kDispatchUserData,
          fmt::format("COMPUTE_USER_DATA_{} of {} is of the dispatch before", i, read));
  return true;
}

bool DispatchJudge::check_registers(const Dispatch& dispatch, const ShRegisters& registers,
                                    const std::optional<hw::KernelDescriptor>& descriptor) {
  if (!check_written(registers) || !check_group(dispatch)) return false;
  if (!check_user_data(dispatch, registers, descriptor)) return false;
  if (descriptor && !check_descriptor(dispatch, *descriptor)) return false;
  last_entry_[dispatch.xcc] = dispatch.code;
  return true;
}

bool DispatchJudge::check_descriptor(const Dispatch& dispatch,
                                     const hw::KernelDescriptor& descriptor) {
  struct Rsrc {
    const char* name;
    u32 is, should;
  };
  const Rsrc kRsrc[] = {
      {"RSRC1", compilers_rsrc1(dispatch.rsrc1), compilers_rsrc1(descriptor.rsrc1)},
      {"RSRC2", compilers_rsrc2(dispatch.rsrc2), compilers_rsrc2(descriptor.rsrc2)},
      {"RSRC3", dispatch.rsrc3, descriptor.rsrc3}};
  for (const Rsrc& rsrc : kRsrc)
    if (rsrc.is != rsrc.should &&
        report_violation(kDispatchRsrc, fmt::format("{} is {:#x}, the descriptor has {:#x}",
                                                    rsrc.name, rsrc.is, rsrc.should)))
      return false;
  if (gpu_.wave32_possible() && dispatch.wave32 != descriptor.enable_wavefront_size32 &&
      report_violation(kDispatchWave,
                       fmt::format("CS_W32_EN is {}, the descriptor has {}", dispatch.wave32,
                                   descriptor.enable_wavefront_size32)))
    return false;
  if (dispatch.lds_bytes < descriptor.group_segment_fixed_size &&
      report_violation(kDispatchLds,
                       fmt::format("{} bytes of LDS, the descriptor has {}", dispatch.lds_bytes,
                                   descriptor.group_segment_fixed_size)))
    return false;
  return check_scratch(dispatch, descriptor);
}

bool DispatchJudge::check_scratch(const Dispatch& dispatch,
                                  const hw::KernelDescriptor& descriptor) {
  u64 lanes = dispatch.wave32 ? 32 : 64;
  u64 needed = lanes * descriptor.private_segment_fixed_size;
  if (needed == 0) return true;
  if ((dispatch.scratch_waves == 0 || dispatch.scratch_wave_bytes < needed) &&
      report_violation(kDispatchScratch,
                       fmt::format("{} waves of {} bytes, a wave needs {}", dispatch.scratch_waves,
                                   dispatch.scratch_wave_bytes, needed)))
    return false;
  u64 ring = u64{dispatch.scratch_waves} * dispatch.scratch_wave_bytes;
  u64 base = gpu_.generation == hw::Generation::Gfx10 ? scratch_in_sgprs(dispatch, descriptor)
                                                      : dispatch.scratch_base;
  return gpu_.memory.in_one_mapping(base, ring) ||
         !report_violation(
             kDispatchScratch,
             fmt::format("a ring of {:#x} bytes at {:#x}, {} waves of {:#x}: {}", ring, base,
                         dispatch.scratch_waves, dispatch.scratch_wave_bytes,
                         gpu_.memory.space().describe(base)));
}

}  // namespace doorbell::emu::amdgpu
