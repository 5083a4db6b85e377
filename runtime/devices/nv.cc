// NV: NVIDIA's GPUs by a driver of our own. Named, and the renderers of NULL; no device opens yet.
#include "drivers/nv/settings.h"
#include "runtime/devices/nvidia_code.h"

namespace doorbell::runtime {

DeviceKind nv_kind() {
  DeviceKind kind{.name = "NV",
                  .interfaces = {"NVK", "PCI", "EMUNVK", "EMUPCI"},
                  .settings = declared_settings<nv::Settings>()};
  kind.renderers = nvidia_renderers();
  return kind;
}

}  // namespace doorbell::runtime
