// --device sets DEV on the command line.
#include "tools/doorbell/open_device.h"

#include "core/device/registry.h"
#include "runtime/environment.h"
#include "runtime/runtime.h"
#include "runtime/target.h"
#include "tools/doorbell/or_throw.h"

namespace doorbell::tools {

core::Device& open_device(const std::string& dev) {
  core::Config config = or_throw(runtime::read_environment(runtime::process_environment()));
  if (!dev.empty()) {
    or_throw(runtime::parse_targets(dev, "--device"));
    config.dev = dev;
  }
  or_throw(runtime::initialize(config));
  return *or_throw(core::Registry::instance().default_device());
}

}  // namespace doorbell::tools
