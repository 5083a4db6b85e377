// --device is DEV, given on the command line.
#include "tools/doorbell/open_device.h"

#include "core/device/registry.h"
#include "runtime/environment.h"
#include "runtime/runtime.h"

namespace doorbell::tools {

core::Device& open_device(const std::string& dev) {
  Result<core::Config> config = runtime::read_environment(runtime::process_environment());
  if (!config) throw std::move(config).error();
  if (!dev.empty()) config->dev = dev;
  if (Result<void> started = runtime::initialize(*config); !started)
    throw std::move(started).error();
  Result<core::Device*> device = core::Registry::instance().default_device();
  if (!device) throw std::move(device).error();
  return **device;
}

}  // namespace doorbell::tools
