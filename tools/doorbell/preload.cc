// Finding our libraries, and starting programs under them.
#include "tools/doorbell/preload.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/os/process.h"

namespace doorbell::tools {

namespace fs = std::filesystem;

std::string find_preload(const std::string& name) {
  const fs::path beside = fs::read_symlink("/proc/self/exe").parent_path() / name;
  const fs::path installed = fs::path(DOORBELL_PRELOAD_FOLDER) / name;
  for (const fs::path& path : {beside, installed})
    if (fs::exists(path)) return path.string();
  throw fail(ErrorKind::NotFound, "{} is neither beside this program nor in {}", name,
             DOORBELL_PRELOAD_FOLDER);
}

int run_preloaded(const std::string& library, std::span<const std::string> command) {
  const char* before = std::getenv("LD_PRELOAD");
  const std::string all = before && *before ? library + ' ' + before : library;
  setenv("LD_PRELOAD", all.c_str(), 1);
  std::fflush(stdout);
  Result<int> status = os::run_attached(command);
  if (!status) throw std::move(status).error();
  return *status;
}

}  // namespace doorbell::tools
