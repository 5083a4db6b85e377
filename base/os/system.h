// The doors to the operating system in one struct, passed down from runtime/. What the references
// name outlives all users of the struct.
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
