// Parses a command line, runs the command, and returns the exit status.
#pragma once

#include <CLI/CLI.hpp>

namespace doorbell::tools {

// Runs the command that is named. `status` is what commands return through; an error is a line on
// stderr and the status 1.
int parse(CLI::App& app, int argc, char** argv, const int& status);

}  // namespace doorbell::tools
