// The options of `doorbell emu` and `doorbell trace` that say what of a trace is written, and their
// way into the program that writes it: the environment.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "base/util/types.h"

namespace doorbell::tools {

struct TraceOptions {
  std::string file, only;
  u64 limit = 0;  // bytes; 0: none
};

// Those besides the file.
void add_trace_options(CLI::App* command, const char* only, const char* limit,
                       TraceOptions* options);

// Empties the file and sets these variables. Throws what is wrong with the options.
void set_trace(const TraceOptions& options, const char* file, const char* only, const char* limit);

}  // namespace doorbell::tools
