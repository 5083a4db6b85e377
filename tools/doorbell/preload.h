// Runs a program with one of Doorbell's libraries preloaded (LD_PRELOAD), for `doorbell trace` and
// `doorbell emu`.
#pragma once

#include <span>
#include <string>

namespace doorbell::tools {

// The path of a library such as "libdoorbell_trace.so": in the folder lib beside the program's,
// where `scripts/hw pack` puts it, in the build folder or installed. Throws if it is not found.
std::string find_preload(const std::string& name);

// Blocks until the program ends; returns its exit status. Libraries that LD_PRELOAD named already
// come after this one, so that an emulated machine can be traced.
int run_preloaded(const std::string& library, std::span<const std::string> command);

}  // namespace doorbell::tools
