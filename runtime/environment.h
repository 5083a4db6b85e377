// The environment, read into the settings. docs/env.md lists the names; nothing else in the library
// reads variables.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/util/result.h"
#include "core/util/config.h"

namespace doorbell::runtime {

// A variable's text, or nothing where it is not set. The process's own, or a test's.
using Environment = std::function<std::optional<std::string>(const char* name)>;
Environment process_environment();

// An unset or empty variable leaves its default. A malformed one is an error that names it.
Result<core::Config> read_environment(const Environment& environment);

}  // namespace doorbell::runtime
