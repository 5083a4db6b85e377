// How dist::init() reaches MPI: the runtime says, so that no include points from tensor/ to it.
//
// Not for users.
#pragma once

#include "core/device/communicator.h"
#include "tensor/dist/dist.h"

namespace doorbell::dist::detail {

using Connect = Result<core::Communicator*> (*)(const InitOptions& options);
void set_connect(Connect connect);

}  // namespace doorbell::dist::detail
