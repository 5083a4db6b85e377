// NVIDIA's names of statuses.
#include "drivers/nv/hw/rm/status.h"

#include <fmt/format.h>

namespace doorbell::nv::hw {

std::string describe_status(u32 status) {
  switch (static_cast<RmStatus>(status)) {
    case RmStatus::Ok: return "NV_OK (0)";
#define DOORBELL_RM_STATUS(one, value, name) \
  case RmStatus::one: return fmt::format("{} ({:#x})", name, status);
#include "drivers/nv/hw/rm/status.def"
  }
  return fmt::format("an unknown status ({:#x})", status);
}

}  // namespace doorbell::nv::hw
