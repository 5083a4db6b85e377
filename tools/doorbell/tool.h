// The program `doorbell` as a function, so that a program with devices of its own can be it too:
// conformance, latency and the rest then know them (examples/backend/doorbell.cc).
#pragma once

namespace doorbell::tools {

// What main() does with its arguments; returns the exit status.
int run(int argc, char** argv);

}  // namespace doorbell::tools
