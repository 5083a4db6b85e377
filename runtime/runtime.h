// The composition root: registers devices, renderers and compilers by explicit calls, and reads the
// environment. A program that uses tensors need not call it: the engine does at its first need
// (doorbell_bootstrap, tensor/engine/kernel_compiler.h). Calling it early gives errors a place.
#pragma once

#include "base/util/result.h"
#include "core/util/config.h"

namespace doorbell::runtime {

// Once per process, with the environment's settings; later calls do nothing. After an error it may
// be called again.
//
// Thread safety: may be called from any thread.
Result<void> initialize();

// The same with settings of the caller's, for programs that do not want the environment read. Fails
// if the runtime has started already.
Result<void> initialize(const core::Config& config);

}  // namespace doorbell::runtime
