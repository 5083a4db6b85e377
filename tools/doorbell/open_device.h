// Starting the runtime with the environment's settings, and the device that a subcommand's --device
// names.
#pragma once

#include <string>

#include "core/device/device.h"

namespace doorbell::tools {

// `dev` is a device as DEV says it; empty: what DEV says. Throws.
core::Device& open_device(const std::string& dev);

}  // namespace doorbell::tools
