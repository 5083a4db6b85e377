// Names between commas.
#include "emulator/amd/machine_text.h"

#include <algorithm>

#include "base/util/types.h"

namespace doorbell::emu::amdgpu {

Result<std::vector<std::string>> parse_gpus(std::string_view text) {
  std::vector<std::string> names;
  for (usize at = 0; at <= text.size();) {
    const usize comma = std::min(text.find(',', at), text.size());
    names.emplace_back(text.substr(at, comma - at));
    if (names.back().empty())
      return fail(ErrorKind::Invalid, "GPU {} of {:?} has no name; expected a list as in {:?}",
                  names.size(), std::string(text), std::string("gfx1100,gfx1100"));
    at = comma + 1;
  }
  return names;
}

}  // namespace doorbell::emu::amdgpu
