// What RM and UVM answer: a status in the parameters of an ioctl that itself succeeded.
// [NVIDIA/open-gpu-kernel-modules src/common/sdk/nvidia/inc/nvstatuscodes.h]
#pragma once

#include <string>

#include "base/util/types.h"

namespace doorbell::nv::hw {

enum class RmStatus : u32 {
  Ok = 0,
#define DOORBELL_RM_STATUS(status, value, name) status = value,
#include "drivers/nv/hw/rm/status.def"
};

// "NV_ERR_NO_MEMORY (0x51)".
std::string describe_status(u32 status);

}  // namespace doorbell::nv::hw
