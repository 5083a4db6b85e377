// Runs a program that writes a file when it ends.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace doorbell::tools {

struct FileRun {
  int status;  // of the program; not 0 if it wrote nothing
  bool written;
};

// Removes `path`, runs the command with this process's standard streams, and prints a message to
// standard error if it wrote no `what` ("trace") there. Blocks until the program ends. Throws Error
// if it does not start.
FileRun run_for_file(const std::vector<std::string>& command, const std::string& path,
                     std::string_view what);

}  // namespace doorbell::tools
