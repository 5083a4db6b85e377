// The doors to the world, as one bundle that is handed down from the composition root. The
// references outlive all that is built on them.
#pragma once

#include "base/os/clock.h"
#include "base/os/files.h"

namespace doorbell::os {

struct System {
  Files& files;
  Clock& clock;
  Random& random;
};

}  // namespace doorbell::os
