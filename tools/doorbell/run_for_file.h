// Running a program that writes a file for us at its end.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace doorbell::tools {

struct FileRun {
  int status;  // the program's; not 0 where it wrote nothing
  bool written;
};

// Removes `path`, runs the command with our standard streams, and says on standard error when it
// wrote no `what` ("trace") there. Blocks until the program ends. Throws Error where it does not
// start.
FileRun run_for_file(const std::vector<std::string>& command, const std::string& path,
                     std::string_view what);

}  // namespace doorbell::tools
