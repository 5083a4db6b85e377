// NULL: compiles for any renderer by name, and runs nothing. LLVM by itself is the host's.
#include "drivers/null/device.h"

#include "runtime/device_kind.h"

namespace doorbell::runtime {

DeviceKind cpu_kind();

DeviceKind null_kind() {
  return {.name = "NULL",
          .renderers = cpu_kind().renderers,
          .open = [](core::DeviceSpec spec,
                     const core::Config&) -> Result<std::unique_ptr<core::Device>> {
            return std::make_unique<null::NullDevice>(std::move(spec));
          },
          .has_all_renderers = true};
}

}  // namespace doorbell::runtime
