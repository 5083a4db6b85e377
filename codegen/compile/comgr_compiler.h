// comgr, AMD's compiler as a library (ROCm's, or Debian's libamd-comgr2), opened while running.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "codegen/compile/compiler.h"

namespace doorbell::codegen {

// HIP (hip_renderer.h) to relocatable code objects for the chip. Fails where there is no comgr, or
// it does not know the chip, and says what to do. `libraries`: to try, in order; empty: the usual.
Result<std::unique_ptr<Compiler>> make_comgr_compiler(std::string chip,
                                                      std::vector<std::string> libraries = {});

}  // namespace doorbell::codegen
