// The functions of functions.def. They have the ABI of the C functions of these names; in a C++
// namespace, so that a program with the emulator in it does not define libcuda's symbols.
#pragma once

#include "emulator/cuda/abi.h"

namespace doorbell::emu::cuda {

#define FUNCTION(name, parameters, arguments) int name parameters;
#include "emulator/cuda/functions.def"
#undef FUNCTION

// By the name that libcuda exports; null: there is none.
void* find_symbol(const char* name);

}  // namespace doorbell::emu::cuda
