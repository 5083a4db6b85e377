// The program `doorbell` as a function, so that a program with its own devices can offer all its
// commands on them (examples/backend/doorbell.cc).
#pragma once

namespace doorbell::tools {

// main() with its arguments; returns the exit status.
int run(int argc, char** argv);

}  // namespace doorbell::tools
