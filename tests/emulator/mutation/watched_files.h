// Files between a driver and an emulated kernel: those below /dev tell a watcher of their ioctls
// and mappings.
#pragma once

#include <memory>

#include "base/os/files.h"

namespace doorbell::testing {

class FileWatcher {
 public:
  virtual ~FileWatcher() = default;
  // In place of the call, which it makes.
  virtual Result<int> ioctl(os::File& file, unsigned long request, void* argument) = 0;
  virtual void mapped(u64 /*offset*/, u8* /*host*/) {}
};

// `files` as the driver sees them; borrows the watcher.
std::unique_ptr<os::Files> watch_files(std::unique_ptr<os::Files> files, FileWatcher& watcher);

}  // namespace doorbell::testing
