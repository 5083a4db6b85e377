// Opens a path that must be a regular file: fails for folders, device nodes, FIFOs and sockets, and
// never waits for a writer. For the doors to files see files.h.
#pragma once

#include <memory>
#include <string>

#include "base/os/files.h"

namespace doorbell::os {

// Access::Read or Access::ReadWrite; the file must exist.
Result<std::unique_ptr<File>> open_regular(Files& files, const std::string& path,
                                           Access access = Access::Read);

}  // namespace doorbell::os
