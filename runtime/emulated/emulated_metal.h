// The emulated Metal behind EMUMETAL, as the composition root sees it. A program links one of two
// definitions: emulated_metal.cc, or no_emulator.cc, which refuses (see emulated_amd.h).
#pragma once

#include "base/util/result.h"
#include "drivers/metal/objc.h"
#include "runtime/emulated/emulator_settings.h"

namespace doorbell::runtime {

// Starts the runtime of the process, once.
Result<metal::FindSymbol> open_emulated_metal(const EmulatorSettings& settings);

}  // namespace doorbell::runtime
