// Disassembly of an object's code, for DEBUG=7.
#pragma once

#include <span>
#include <string>

#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::codegen {

Result<std::string> disassemble_object(std::span<const u8> object, const std::string& triple,
                                       const std::string& cpu, const std::string& features);

}  // namespace doorbell::codegen
