// Folders that follow from the environment.
#include "base/os/environment.h"

namespace doorbell::os {

Result<std::string> cache_folder(const Environment& environment) {
  if (std::string_view named = environment.get("CACHEDIR"); !named.empty())
    return std::string(named);
  // The XDG specification has relative paths ignored.
  if (std::string_view xdg = environment.get("XDG_CACHE_HOME"); xdg.starts_with('/'))
    return std::string(xdg) + "/doorbell";
  std::string_view home = environment.get("HOME");
  if (home.empty())
    return fail(ErrorKind::NotFound, "no folder for caches: HOME and XDG_CACHE_HOME are not set");
#ifdef __APPLE__
  return std::string(home) + "/Library/Caches/doorbell";
#else
  return std::string(home) + "/.cache/doorbell";
#endif
}

}  // namespace doorbell::os
