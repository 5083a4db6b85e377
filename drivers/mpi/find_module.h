// Where the module that calls MPI may be.
#pragma once

#include <string>
#include <vector>

namespace doorbell::mpi {

// Files to try in order: beside the program or module that holds this library, where programs
// install it, where it was built, and the system's library path. Empty: the build has no MPI.
std::vector<std::string> module_files();

}  // namespace doorbell::mpi
