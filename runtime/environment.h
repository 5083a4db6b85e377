// The environment, read into the settings. docs/env.md lists the names; nothing else in the library
// reads variables.
#pragma once

#include "base/os/environment.h"
#include "base/util/result.h"
#include "core/util/config.h"

namespace doorbell::runtime {

// The variables of this process.
os::Environment process_environment();

// An unset or empty variable leaves its default. A malformed one is an error that names it.
Result<core::Config> read_environment(const os::Environment& environment);

}  // namespace doorbell::runtime
