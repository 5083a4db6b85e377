// The functions by name.
#include <cstring>
#include <initializer_list>

#include "emulator/cuda/functions.h"

namespace doorbell::emu::cuda {

void* find_symbol(const char* name) {
  struct Symbol {
    const char* name;
    void* function;
  };
  static const Symbol kSymbols[] = {
#define FUNCTION(name, parameters, arguments) {#name, reinterpret_cast<void*>(&name)},
#include "emulator/cuda/functions.def"
#undef FUNCTION
  };
  for (const Symbol& symbol : kSymbols)
    if (std::strcmp(symbol.name, name) == 0) return symbol.function;
  return nullptr;
}

// The newest ABI that the client's version of CUDA knows; all of ours are older than 12.0, but for
// cuCtxCreate_v4. [CUDA Driver API, cuGetProcAddress]
int cuGetProcAddress_v2(const char* symbol, void** function, int version, u64 /*flags*/,
                        int* found) {
  constexpr int kCuda13 = 13000, kFoundIt = 0, kNotFoundIt = 1;
  *function = nullptr;
  for (const char* suffix : {"_v4", "_v2", ""}) {
    if (std::strcmp(suffix, "_v4") == 0 && version < kCuda13) continue;
    char name[128];
    if (std::strlen(symbol) + 4 > sizeof name) return kInvalidValue;
    std::strcpy(name, symbol);
    std::strcat(name, suffix);
    *function = find_symbol(name);
    if (*function != nullptr) break;
  }
  if (found != nullptr) *found = *function == nullptr ? kNotFoundIt : kFoundIt;
  return *function == nullptr ? kNotFound : kSuccess;
}

}  // namespace doorbell::emu::cuda
