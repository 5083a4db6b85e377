// PROFILE=1 and GRAPH_FILE: the trace and the graphs of the process, and their files when it exits.
// For spans see hcq/trace/trace.h, for graphs tensor/engine/graph_log.h.
#pragma once

#include <string>

#include "base/util/result.h"

namespace doorbell::runtime {

// Traces from here on, and at exit writes to `path`, or where it is empty to
// doorbell-PID.trace.json in the current folder; the log says where. Once a process.
Result<void> start_profile(const std::string& path);
// Logs graphs and kernels from here on, and writes the page that shows them to `path` at exit.
Result<void> start_graph_page(const std::string& path);

}  // namespace doorbell::runtime
