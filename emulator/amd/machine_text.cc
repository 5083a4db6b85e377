// Names between commas; digits.
#include "emulator/amd/machine_text.h"

#include <charconv>

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

Result<u64> parse_number(std::string_view what, std::string_view text) {
  u64 number = 0;
  const auto [end, why] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (why == std::errc() && end == text.data() + text.size()) return number;
  return fail(ErrorKind::Invalid, "{} {:?} is {}", what, std::string(text),
              why == std::errc::result_out_of_range ? "not below 2^64" : "no number");
}

}  // namespace doorbell::emu::amdgpu
