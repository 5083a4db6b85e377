// What work that still runs needs: buffers and programs whose owners may be gone. And memory, which
// may have to wait for that work. For .cc files of the engine.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include "core/device/device.h"
#include "hcq/memory/keeper.h"

namespace doorbell::engine {

// The process's.
hcq::Keeper& in_flight();

// Fresh memory. Where there is none, what is in flight is waited for first. Throws Error.
core::Ref<core::Buffer> take_memory(core::Device& device, i64 bytes);

}  // namespace doorbell::engine
