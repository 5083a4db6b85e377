// The program inherits the environment, in which the caller has set what to write.
#include "tools/doorbell/run_for_file.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "base/os/process.h"
#include "tools/doorbell/or_throw.h"

namespace doorbell::tools {

FileRun run_for_file(const std::vector<std::string>& command, const std::string& path,
                     std::string_view what) {
  std::filesystem::remove(path);
  std::fflush(stdout);
  const int status = or_throw(os::run_attached(command));
  if (std::filesystem::exists(path)) return {status, true};
  fmt::print(stderr,
             "doorbell: {} ended with status {} and wrote no {}: it uses no device, or did not "
             "exit by itself\n",
             command[0], status, what);
  return {status == 0 ? 1 : status, false};
}

}  // namespace doorbell::tools
