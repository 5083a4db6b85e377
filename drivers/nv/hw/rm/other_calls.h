// Calls that Doorbell's driver does not make: those of other clients, for `doorbell trace`, and
// questions of `doorbell nv probe`.
// [NVIDIA/open-gpu-kernel-modules src/common/sdk/nvidia/inc/nvos.h, ctrl/ctrl2080/ctrl2080fb.h,
// src/nvidia/arch/nvalloc/unix/include/nv-ioctl.h, kernel-open/nvidia-uvm/uvm_ioctl.h]
#pragma once

#include "drivers/nv/hw/rm/escape.h"

namespace doorbell::nv::hw {

// The longer form of NV_ESC_RM_ALLOC, which CUDA uses. [nvos.h NVOS64_PARAMETERS]
struct RmAllocWithRights {
  static constexpr auto kName = "NVOS64_PARAMETERS";
  static constexpr u8 kEscape = RmAlloc::kEscape;
  u32 root = 0, object_parent = 0, object_new = 0, class_id = 0;
  u64 params = 0, rights_requested = 0;
  u32 params_size = 0, flags = 0;
  u32 status = 0;
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("hRoot", p.root);
    f("hObjectParent", p.object_parent);
    f("hObjectNew", p.object_new);
    f("hClass", p.class_id);
    f("pAllocParms", p.params);
    f("pRightsRequested", p.rights_requested);
    f("paramsSize", p.params_size);
    f("flags", p.flags);
    f("status", p.status);
  }
};

// Another escape whose parameters are too large for an ioctl's number. [nv-ioctl.h nv_ioctl_xfer_t,
// nv-ioctl-numbers.h NV_ESC_IOCTL_XFER_CMD]
struct TransferEscape {
  static constexpr auto kName = "nv_ioctl_xfer_t";
  static constexpr u8 kEscape = 0xd3;  // NV_ESC_IOCTL_XFER_CMD
  u32 cmd = 0, size = 0;
  u64 ptr = 0;
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("cmd", p.cmd);
    f("size", p.size);
    f("ptr", p.ptr);
  }
};

// To the subdevice: facts of the memory, by index. [ctrl2080fb.h NV2080_CTRL_CMD_FB_GET_INFO]
struct GetFbInfo {
  static constexpr auto kName = "NV2080_CTRL_FB_GET_INFO_PARAMS";
  static constexpr u32 kCommand = 0x20801301;
  u32 list_size = 0;
  u64 list = 0;  // of pairs of u32: index, and from RM the data
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("fbInfoListSize", p.list_size);
    f("fbInfoList", p.list);
  }
};

// Whether GPUs may access all memory of the process. [uvm_ioctl.h UVM_PAGEABLE_MEM_ACCESS]
struct UvmPageableMemAccess {
  static constexpr auto kName = "UVM_PAGEABLE_MEM_ACCESS_PARAMS";
  static constexpr u32 kRequest = 39;
  bool pageable_mem_access = false;  // from
  u32 rm_status = 0;
  static constexpr void fields(auto& p, DriverAbi, auto f) {
    f("pageableMemAccess", p.pageable_mem_access);
    f("rmStatus", p.rm_status);
  }
};

}  // namespace doorbell::nv::hw
