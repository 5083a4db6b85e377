// Opening what must be a regular file: folders, device nodes, FIFOs and sockets are refused, and
// nobody waits for a writer. Files as such are files.h's.
#pragma once

#include <memory>
#include <string>

#include "base/os/files.h"

namespace doorbell::os {

// Access::Read or Access::ReadWrite; the file must exist.
Result<std::unique_ptr<File>> open_regular(Files& files, const std::string& path,
                                           Access access = Access::Read);

}  // namespace doorbell::os
