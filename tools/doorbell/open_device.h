// Starts the runtime with the environment's settings and opens the device that a subcommand's
// --device names.
#pragma once

#include <string>

#include "core/device/device.h"

namespace doorbell::tools {

// `dev` has the form of DEV; empty: DEV itself. Throws.
core::Device& open_device(const std::string& dev);

}  // namespace doorbell::tools
