// What an emulated machine inside another program counts, for `doorbell emu --count`.
#pragma once

#include <memory>

#include "emulator/core/counts.h"

namespace doorbell::emu {

// Null if the path is empty; otherwise the counts that are appended to this file when the process
// ends by exit(), not when it is killed. The same for all calls; call it before other threads do.
std::shared_ptr<Counts> open_counts(const char* path);

}  // namespace doorbell::emu
