// `doorbell` with one more device: all commands of the tool work on Abacus too.
//   abacus_doorbell conformance --device ABACUS
#include <cstdio>

#include "examples/backend/backend.h"
#include "tools/doorbell/tool.h"

int main(int argc, char** argv) {
  if (doorbell::Result<void> added = doorbell::abacus::add_abacus(); !added) {
    std::fprintf(stderr, "%s\n", to_string(added.error()).c_str());
    return 1;
  }
  return doorbell::tools::run(argc, argv);
}
