// The key of a compiled kernel in the cache on disk: everything that determines its bytes. Structs
// are included by their fields(), so that no member is left out.
#pragma once

#include <string>

#include "codegen/compile/backend.h"

namespace doorbell::codegen {

// As text, for keys: each field by name and value.
std::string key_text(const Caps& caps);
std::string key_text(const LowerOptions& options);

CacheKey kernel_key(const core::KernelAst& kernel, const Backend& backend,
                    const LowerOptions& options);

}  // namespace doorbell::codegen
