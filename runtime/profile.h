// PROFILE=1: the trace of the process, and its file when the process exits. What is in it is told
// by whoever runs something (hcq/trace/trace.h); showing it is tools/doorbell/profile.cc's.
#pragma once

#include <string>

#include "base/util/result.h"

namespace doorbell::runtime {

// Traces from here on, and at exit writes to `path`, or where it is empty to
// doorbell-PID.trace.json in the current folder; the log says where. Once a process.
Result<void> start_profile(const std::string& path);

}  // namespace doorbell::runtime
