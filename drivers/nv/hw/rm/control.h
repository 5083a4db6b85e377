// Commands to RM's objects (NV_ESC_RM_CONTROL): the upper half of a command's number is the class
// of the object that takes it.
// [NVIDIA/open-gpu-kernel-modules src/common/sdk/nvidia/inc/ctrl/]
#pragma once

#include <string_view>

#include "drivers/nv/hw/rm/abi.h"

namespace doorbell::nv::hw {

// To the client. The driver's version as text. [ctrl0000system.h]
struct GetBuildVersion {
  static constexpr auto kName = "NV0000_CTRL_SYSTEM_GET_BUILD_VERSION_V2_PARAMS";
  static constexpr u32 kCommand = 0x13e;
  std::array<u8, 256> driver_version{}, version{}, driver_branch{}, title{};
  u32 changelist_number = 0, official_changelist_number = 0;
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("driverVersionBuffer", p.driver_version);
    f("versionBuffer", p.version);
    f("driverBranch", p.driver_branch);
    f("titleBuffer", p.title);
    f("changelistNumber", p.changelist_number);
    f("officialChangelistNumber", p.official_changelist_number);
  }
};

// To the client. [ctrl0000gpu.h]
struct GetIdInfo {
  static constexpr auto kName = "NV0000_CTRL_GPU_GET_ID_INFO_V2_PARAMS";
  static constexpr u32 kCommand = 0x205;
  u32 gpu_id = 0;  // to; the rest from
  u32 gpu_flags = 0, device_instance = 0, sub_device_instance = 0, sli_status = 0, board_id = 0,
      gpu_instance = 0;
  i32 numa_id = 0;
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("gpuId", p.gpu_id);
    f("gpuFlags", p.gpu_flags);
    f("deviceInstance", p.device_instance);
    f("subDeviceInstance", p.sub_device_instance);
    f("sliStatus", p.sli_status);
    f("boardId", p.board_id);
    f("gpuInstance", p.gpu_instance);
    f("numaId", p.numa_id);
  }
};

// To the device: which classes it has; with a null list only how many.
// [ctrl0080gpu.h NV0080_CTRL_CMD_GPU_GET_CLASSLIST]
struct GetClasslist {
  static constexpr auto kName = "NV0080_CTRL_GPU_GET_CLASSLIST_PARAMS";
  static constexpr u32 kCommand = 0x800201;
  u32 num_classes = 0;
  u64 class_list = 0;  // of u32
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("numClasses", p.num_classes);
    f("classList", p.class_list);
  }
};

// To the subdevice: the GPU's UUID, as text or as 16 bytes. [ctrl2080gpu.h]
struct GetGidInfo {
  static constexpr auto kName = "NV2080_CTRL_GPU_GET_GID_INFO_PARAMS";
  static constexpr u32 kCommand = 0x2080014a;
  static constexpr u32 kBinary = 2;  // NV2080_GPU_CMD_GPU_GET_GID_FLAGS_FORMAT_BINARY in 1:0
  u32 index = 0, flags = 0;
  u32 length = 0;
  std::array<u8, 256> data{};
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("index", p.index);
    f("flags", p.flags);
    f("length", p.length);
    f("data", p.data);
  }
};

// To the subdevice: facts of the graphics engine, by index.
// [ctrl2080gr.h NV2080_CTRL_GR_INFO_INDEX_*]
struct GetGrInfo {
  static constexpr auto kName = "NV2080_CTRL_GR_GET_INFO_PARAMS";
  static constexpr u32 kCommand = 0x20801201;
  u32 list_size = 0;
  u64 list = 0;  // of pairs of u32: index, and from RM the data
  u32 route_flags = 0;
  u64 route = 0;
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("grInfoListSize", p.list_size);
    f("grInfoList", p.list);
    f("flags", p.route_flags);
    f("route", p.route);
  }
};

// [ctrl2080gr.h, ctrl0080gr.h NV0080_CTRL_GR_INFO_INDEX_*]
enum class GrInfo : u32 {
  SmVersion = 0x0c,  // 0x806 of sm_86: major << 8 | minor; Blackwell's sm_120 is 0xa04
  MaxWarpsPerSm = 0x0d,
  Gpcs = 0x14,
  TpcsPerGpc = 0x17,
  SmsPerTpc = 0x20,
};

// To a channel: what to write to the doorbell. [ctrlc36f.h]
struct GetWorkSubmitToken {
  static constexpr auto kName = "NVC36F_CTRL_CMD_GPFIFO_GET_WORK_SUBMIT_TOKEN_PARAMS";
  static constexpr u32 kCommand = 0xc36f0108;
  u32 work_submit_token = 0;
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("workSubmitToken", p.work_submit_token);
  }
};

// To a channel group: its channels run. [ctrla06c.h, with the parameters of ctrla06fgpfifo.h]
struct GpfifoSchedule {
  static constexpr auto kName = "NVA06C_CTRL_GPFIFO_SCHEDULE_PARAMS";
  static constexpr u32 kCommand = 0xa06c0101;
  bool enable = false, skip_submit = false, skip_enable = false;
  static constexpr void fields(auto& p, DriverAbi abi, auto f) {
    f("bEnable", p.enable);
    f("bSkipSubmit", p.skip_submit);
    if (abi >= DriverAbi::R575) f("bSkipEnable", p.skip_enable);
  }
};

// [ctrl83dedebug.h NV83DE_SM_ERROR_STATE_REGISTERS]
struct SmErrorState {
  static constexpr auto kName = "NV83DE_SM_ERROR_STATE_REGISTERS";
  u32 global_esr = 0, warp_esr = 0, warp_esr_pc = 0, global_esr_report_mask = 0,
      warp_esr_report_mask = 0;
  u64 esr_addr = 0, warp_esr_pc64 = 0;
  u32 cga_esr = 0, cga_esr_report_mask = 0;
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("hwwGlobalEsr", p.global_esr);
    f("hwwWarpEsr", p.warp_esr);
    f("hwwWarpEsrPc", p.warp_esr_pc);
    f("hwwGlobalEsrReportMask", p.global_esr_report_mask);
    f("hwwWarpEsrReportMask", p.warp_esr_report_mask);
    f("hwwEsrAddr", p.esr_addr);
    f("hwwWarpEsrPc64", p.warp_esr_pc64);
    f("hwwCgaEsr", p.cga_esr);
    f("hwwCgaEsrReportMask", p.cga_esr_report_mask);
  }
};

// To the debugger: what each SM stopped for. [ctrl83dedebug.h]
struct ReadSmErrorStates {
  static constexpr auto kName = "NV83DE_CTRL_DEBUG_READ_ALL_SM_ERROR_STATES_PARAMS";
  static constexpr u32 kCommand = 0x83de030c;
  u32 target_channel = 0, num_sms = 0;
  std::array<SmErrorState, 100> states{};
  u32 mmu_fault_info = 0;
  bool mmu_fault_valid = false;
  u32 mmu_fault = 0;
  u32 starting_sm = 0;
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("hTargetChannel", p.target_channel);
    f("numSMsToRead", p.num_sms);
    f("smErrorStateArray", p.states);
    f("mmuFaultInfo", p.mmu_fault_info);
    f("valid", p.mmu_fault_valid);
    f("faultInfo", p.mmu_fault);
    f("startingSM", p.starting_sm);
  }
};

// [ctrl83dedebug.h NV83DE_CTRL_DEBUG_READ_MMU_FAULT_INFO_ENTRY]
struct MmuFault {
  static constexpr auto kName = "NV83DE_CTRL_DEBUG_READ_MMU_FAULT_INFO_ENTRY";
  u64 fault_address = 0;
  u32 fault_type = 0;
  u32 access_type = 0;
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("faultAddress", p.fault_address);
    f("faultType", p.fault_type);
    f("accessType", p.access_type);
  }
};

// To the debugger: the MMU faults of its context; also some of before. [ctrl83dedebug.h]
struct ReadMmuFaults {
  static constexpr auto kName = "NV83DE_CTRL_DEBUG_READ_MMU_FAULT_INFO_PARAMS";
  static constexpr u32 kCommand = 0x83de0328;
  std::array<MmuFault, 4> faults{};
  u32 count = 0;
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("mmuFaultInfoList", p.faults);
    f("count", p.count);
  }
};

// [open-gpu-kernel-modules kernel-open/nvidia-uvm/hwref/ampere/ga100/dev_fault.h
// NV_PFAULT_FAULT_TYPE_*, NV_PFAULT_ACCESS_TYPE_*]
constexpr std::string_view mmu_fault_name(u32 type) {
  constexpr std::array<std::string_view, 16> kNames = {
      "PDE",
      "PDE_SIZE",
      "PTE",
      "VA_LIMIT_VIOLATION",
      "UNBOUND_INST_BLOCK",
      "PRIV_VIOLATION",
      "RO_VIOLATION",
      "WO_VIOLATION",
      "PITCH_MASK_VIOLATION",
      "WORK_CREATION",
      "UNSUPPORTED_APERTURE",
      "COMPRESSION_FAILURE",
      "UNSUPPORTED_KIND",
      "REGION_VIOLATION",
      "POISONED",
      "ATOMIC_VIOLATION",
  };
  return type < kNames.size() ? kNames[type] : "unknown";
}
constexpr std::string_view mmu_access_name(u32 type) {
  constexpr std::array<std::string_view, 5> kNames = {"read", "write", "atomic", "prefetch",
                                                      "atomic"};
  return type < kNames.size() ? kNames[type] : "unknown";
}

// To the subdevice: higher clocks for a while. [ctrl2080perf.h]
struct PerfBoost {
  static constexpr auto kName = "NV2080_CTRL_PERF_BOOST_PARAMS";
  static constexpr u32 kCommand = 0x2080200a;
  u32 flags = 0, duration = 0;  // seconds
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("flags", p.flags);
    f("duration", p.duration);
  }
};

// To the subdevice: writes back and invalidates the L2. [ctrl2080fb.h]
struct FlushGpuCache {
  static constexpr auto kName = "NV2080_CTRL_FB_FLUSH_GPU_CACHE_PARAMS";
  static constexpr u32 kCommand = 0x2080130e;
  std::array<u64, 500> address_array{};
  u32 address_array_size = 0, address_align = 0;
  u64 mem_block_size_bytes = 0;
  u32 flags = 0;
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("addressArray", p.address_array);
    f("addressArraySize", p.address_array_size);
    f("addressAlign", p.address_align);
    f("memBlockSizeBytes", p.mem_block_size_bytes);
    f("flags", p.flags);
  }
};

}  // namespace doorbell::nv::hw
