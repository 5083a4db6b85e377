// The options of `doorbell emu` and `doorbell trace` that select what a trace contains. They are
// passed to the program that writes it in environment variables.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "base/util/types.h"

namespace doorbell::tools {

struct TraceOptions {
  std::string file, only;
  u64 limit = 0;  // bytes; 0: none
};

// The options other than the file.
void add_trace_options(CLI::App* command, const char* only, const char* limit,
                       TraceOptions* options);

// Empties the file and sets the variables. Throws if an option is wrong.
void set_trace(const TraceOptions& options, const char* file, const char* only, const char* limit);

}  // namespace doorbell::tools
