// comgr, AMD's compiler as a library (ROCm's, or Debian's libamd-comgr2), opened while running.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codegen/compile/compiler.h"

namespace doorbell::codegen {

// Compiles HIP (hip_renderer.h) to relocatable code objects for the chip. Fails if there is no
// comgr or it does not know the chip; the message says what to do. `libraries`: names to try in
// order; empty: the default ones.
Result<std::unique_ptr<Compiler>> make_comgr_compiler(std::string chip,
                                                      std::vector<std::string> libraries = {});

}  // namespace doorbell::codegen
