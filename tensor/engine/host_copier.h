// The host as a device that only copies: for two devices of which neither sees the other's memory,
// nor both any that they could share. Its queue's thread reads from one and writes to the other.
#pragma once

#include "hcq/device.h"

namespace doorbell::engine {

// The process's. Thread safety: may be called from any thread.
hcq::Device& host_copier();

}  // namespace doorbell::engine
