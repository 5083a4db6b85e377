// Libraries through the system's loader.
#include "base/os/library.h"

#include <dlfcn.h>

namespace doorbell::os {

Result<Library> Library::open(std::span<const std::string> names) {
  std::string tried;
  for (const std::string& name : names) {
    if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return Library(handle, name);
    const char* why = dlerror();
    tried += (tried.empty() ? "" : "; ") + std::string(why ? why : name);
  }
  return fail(ErrorKind::NotFound, "no library: {}", tried);
}

Library::~Library() {
  if (handle_) dlclose(handle_);
}

Result<void*> Library::find(const char* symbol) const {
  if (void* address = dlsym(handle_, symbol)) return address;
  return fail(ErrorKind::NotFound, "{} has no {}", name_, symbol);
}

}  // namespace doorbell::os
