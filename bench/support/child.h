// A benchmark that starts itself again, so that each figure comes from a fresh process: settings
// are read once per process, and a cold run is cold once. The child prints one line of JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::bench {

// The JSON that a program printed: its whole output or its last line. If it failed, an Error with
// its output.
Result<nlohmann::json> run_for_json(const std::vector<std::string>& command);

// Runs this program with these arguments, and returns the same.
Result<nlohmann::json> run_self(std::vector<std::string> arguments);

// The number of this name, or NaN, which a table shows as "-".
f64 number(const nlohmann::json& object, const char* name);

}  // namespace doorbell::bench
