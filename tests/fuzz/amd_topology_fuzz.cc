// The kernel's text about a GPU, any bytes: they may be refused; what is taken can be computed
// with.
#include "drivers/amd/caps.h"

using namespace doorbell;

extern "C" int LLVMFuzzerTestOneInput(const u8* data, std::size_t size);

int LLVMFuzzerTestOneInput(const u8* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (Result<amd::NodeProperties> properties = amd::parse_properties(text))
    for (const u64 target : {90402, 100300, 110000, 120001})
      (void)amd::save_area_of(*amd::find_caps(target), *properties);
  return 0;
}
