// Code objects, any bytes: they may be refused; what is taken can be relocated.
#include "drivers/amd/code_object.h"

using namespace doorbell;

extern "C" int LLVMFuzzerTestOneInput(const u8* data, std::size_t size);

int LLVMFuzzerTestOneInput(const u8* data, std::size_t size) {
  const std::string name = "kernel";
  if (Result<amd::CodeObject> object = amd::CodeObject::load({data, size}, name))
    object->relocate(0x2000'0000'0000);
  return 0;
}
