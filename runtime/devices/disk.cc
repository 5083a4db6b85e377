// DISK: tensors on files. It has no renderers: nothing is computed there.
#include "drivers/disk/device.h"

#include "runtime/device_kind.h"

namespace doorbell::runtime {

DeviceKind disk_kind() {
  return {.name = "DISK",
          .open = [](core::DeviceSpec spec,
                     const core::Config&) -> Result<std::unique_ptr<core::Device>> {
            return std::make_unique<disk::DiskDevice>(std::move(spec));
          }};
}

}  // namespace doorbell::runtime
