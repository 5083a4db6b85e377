// Running a program with one of our libraries before all others (LD_PRELOAD): what `doorbell trace`
// and `doorbell emu` have in common. What a library then does is its own.
#pragma once

#include <span>
#include <string>

namespace doorbell::tools {

// The path of a library of ours, "libdoorbell_trace.so": where it was built, or installed. Throws
// when it is nowhere.
std::string find_preload(const std::string& name);

// Until it ends; its exit status. Libraries that were to be preloaded already come after ours, so
// that what is traced may be an emulated machine.
int run_preloaded(const std::string& library, std::span<const std::string> command);

}  // namespace doorbell::tools
