// The files of an emulated machine as files on disk, for programs that cannot use an os::Files:
// `doorbell emu` makes the folder, the preload shim redirects paths into it.
#pragma once

#include <span>
#include <string>

#include "base/util/result.h"

namespace doorbell::emu {

// Below `root`, which exists: "/sys/..." becomes "<root>/sys/...". Unknown GPUs are Invalid.
Result<void> write_system_root(const std::string& root, std::span<const std::string> gpus);
// The same of GPUs that no kernel driver has: PCI devices, firmware, the page map's name.
Result<void> write_bare_root(const std::string& root, std::span<const std::string> gpus);

}  // namespace doorbell::emu
