// Cubins, any bytes: they may be refused; what is taken can be relocated.
#include "drivers/nv/cubin.h"

using namespace doorbell;

extern "C" int LLVMFuzzerTestOneInput(const u8* data, std::size_t size);

int LLVMFuzzerTestOneInput(const u8* data, std::size_t size) {
  for (const std::string name : {"scale", "other", "kernel"})
    if (Result<nv::Cubin> cubin = nv::Cubin::load({data, size}, name))
      cubin->relocate(0x20'0000'0000);
  return 0;
}
