// Putting the pieces together.
#include "examples/backend/backend.h"

#include "examples/backend/assembler.h"
#include "examples/backend/device.h"
#include "examples/backend/renderer.h"
#include "runtime/extension.h"

namespace doorbell::abacus {

using doorbell::runtime::DeviceKind;
using doorbell::runtime::Toolchain;

Result<void> add_abacus() {
  return doorbell::runtime::add_device_kind(DeviceKind{
      .name = "ABACUS",
      .renderer = "ABACUS",
      .open = [](core::DeviceSpec spec) -> Result<std::unique_ptr<core::Device>> {
        return std::make_unique<AbacusDevice>(std::move(spec));
      },
      .make_toolchain = [](const core::Device&) -> Result<Toolchain> {
        return Toolchain{make_renderer(), make_assembler()};
      },
  });
}

}  // namespace doorbell::abacus
