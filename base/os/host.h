// The real doors: this machine's files, clock and randomness.
#pragma once

#include "base/os/system.h"

namespace doorbell::os {

// Stateless, so there is one for all; never destroyed.
const System& host_system();

Files& host_files();
Clock& host_clock();
Random& host_random();

// Memory of an open file, or, with descriptor -1, of none. An error calls it `what`.
Result<Mapping> map_descriptor(int descriptor, const MapRequest& request, std::string_view what);

// Page size of the host: 4096 on x86-64, up to 64 KiB elsewhere.
u64 host_page_bytes();

}  // namespace doorbell::os
