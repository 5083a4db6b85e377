// Finds Doorbell's preload libraries and starts programs with them.
#include "tools/doorbell/preload.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/os/process.h"
#include "tools/doorbell/or_throw.h"
#include "tools/measure/measure.h"

namespace doorbell::tools {

namespace fs = std::filesystem;

std::string find_preload(const std::string& name) {
  std::string tried, folders = own_folder() + "/../lib:" DOORBELL_PRELOAD_FOLDERS;
  while (!folders.empty()) {
    const std::string folder = folders.substr(0, folders.find(':'));
    folders.erase(0, folder.size() + 1);
    const fs::path path = fs::path(folder) / name;
    if (fs::exists(path)) return path.string();
    tried += (tried.empty() ? "" : ", ") + folder;
  }
  throw fail(ErrorKind::NotFound, "{} is in none of {}", name, tried);
}

int run_preloaded(const std::string& library, std::span<const std::string> command) {
  const char* before = std::getenv("LD_PRELOAD");
  const std::string all = before && *before ? library + ':' + before : library;
  setenv("LD_PRELOAD", all.c_str(), 1);
  std::fflush(stdout);
  return or_throw(os::run_attached(command));
}

}  // namespace doorbell::tools
