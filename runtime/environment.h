// The environment, read into the settings: those of core/util/config.def, and those that kinds of
// devices declare. docs/env.md lists them; nothing else in the library reads variables.
#pragma once

#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/util/result.h"
#include "base/util/types.h"
#include "core/util/config.h"

namespace doorbell::runtime {

// The variables of this process.
os::Environment process_environment();

// An unset or empty variable leaves its default. A malformed one, or a number outside of its range,
// is an error that names it.
Result<core::Config> read_environment(const os::Environment& environment);

// A sentence for each variable that is probably a setting's name mistyped ("DEBG=2"), by name.
std::vector<std::string> slips(const os::Environment& environment);

}  // namespace doorbell::runtime
