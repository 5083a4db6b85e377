// How a program joins the other processes that a launcher started: which launcher it was, and MPI.
#pragma once

#include "core/device/communicator.h"
#include "tensor/dist/dist.h"

namespace doorbell::mpi {
class Link;
}
namespace doorbell::os {
class Environment;
}

namespace doorbell::runtime {

// What started this process along with others, as its environment says: "Open MPI's mpirun". The
// error says what to do where nothing did.
Result<std::string> launcher(const os::Environment& environment);

// What connect_processes() joined by; none before.
mpi::Link* process_link();

Result<core::Communicator*> connect_processes(const dist::InitOptions& options);

}  // namespace doorbell::runtime
