// Libraries through the system's loader.
#include "base/os/library.h"

#include <dlfcn.h>

#include <deque>
#include <mutex>

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

Result<const Library*> Library::open_for_good(std::span<const std::string> names) {
  TRY(Library library, open(names));
  // Kept where leak checkers find them.
  static std::mutex& mutex = *new std::mutex;
  static std::deque<Library>& kept = *new std::deque<Library>;
  std::lock_guard lock(mutex);
  return &kept.emplace_back(std::move(library));
}

Library::~Library() {
  if (handle_) dlclose(handle_);
}

Result<void*> Library::find(const char* symbol) const {
  if (void* address = dlsym(handle_, symbol)) return address;
  return fail(ErrorKind::NotFound, "{} has no {}", name_, symbol);
}

}  // namespace doorbell::os
