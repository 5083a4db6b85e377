// Reads decimal digits.
#include "emulator/core/number.h"

#include <charconv>

namespace doorbell::emu {

Result<u64> parse_number(std::string_view what, std::string_view text) {
  u64 number = 0;
  const auto [end, why] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (why == std::errc() && end == text.data() + text.size()) return number;
  return fail(ErrorKind::Invalid, "{} {:?} is {}", what, std::string(text),
              why == std::errc::result_out_of_range ? "not below 2^64" : "no number");
}

Result<u64> parse_number(std::string_view what, std::string_view text, u64 otherwise) {
  if (text.empty()) return otherwise;
  return parse_number(what, text);
}

}  // namespace doorbell::emu
