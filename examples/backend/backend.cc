// Registers the device kind with its parts.
#include "examples/backend/backend.h"

#include "examples/backend/assembler.h"
#include "examples/backend/device.h"
#include "examples/backend/renderer.h"
#include "runtime/extension.h"

namespace doorbell::abacus {

using doorbell::runtime::CodeTarget;
using doorbell::runtime::DeviceKind;
using doorbell::runtime::Toolchain;

Result<void> add_abacus() {
  return doorbell::runtime::add_device_kind(DeviceKind{
      .name = "ABACUS",
      .renderers = {{
          .name = "ABACUS",
          .make = [](const CodeTarget&) -> Result<Toolchain> {
            return Toolchain{make_renderer(), make_assembler()};
          },
      }},
      .open = [](core::DeviceSpec spec,
                 const core::Config&) -> Result<std::unique_ptr<core::Device>> {
        return std::make_unique<AbacusDevice>(std::move(spec));
      },
  });
}

}  // namespace doorbell::abacus
