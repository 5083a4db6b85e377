// Devices from outside this library: a program registers them before its first tensor, and from
// then on DEV, the registry and the engine treat them like the built-in ones.
// docs/adding-a-backend.md walks through one.
#pragma once

#include "runtime/device_kind.h"

namespace doorbell::runtime {

// Fails for a kind or renderer whose name is taken, and once the runtime has started.
//
// Thread safety: may be called from any thread.
Result<void> add_device_kind(DeviceKind kind);

}  // namespace doorbell::runtime
