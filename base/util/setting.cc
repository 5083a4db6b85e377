// The texts of settings, parsed.
#include "base/util/setting.h"

#include <charconv>

#include "base/util/try.h"

namespace doorbell {

Result<void> parse_setting(const Setting& setting, const std::string& text, int* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  if (error == std::errc::invalid_argument || end != text.data() + text.size())
    return fail(ErrorKind::Invalid, "{}={}: '{}' is not a number", setting.name, text, text);
  if (error == std::errc::result_out_of_range || *value < setting.least || *value > setting.most)
    return fail(ErrorKind::Invalid, "{}={}: expected {} to {}", setting.name, text, setting.least,
                setting.most);
  return {};
}

Result<void> parse_setting(const Setting& setting, const std::string& text, bool* value) {
  if (text != "0" && text != "1")
    return fail(ErrorKind::Invalid, "{}={}: '{}' is neither 0 nor 1", setting.name, text, text);
  *value = text == "1";
  return {};
}

Result<void> parse_setting(const Setting&, const std::string& text, std::string* value) {
  *value = text;
  return {};
}

Result<void> parse_setting(const Setting& setting, const std::string& text,
                           std::optional<bool>* value) {
  return parse_setting(setting, text, &value->emplace());
}

Result<void> parse_setting(const Setting& setting, const std::string& text,
                           std::optional<u64>* value) {
  u64 number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    return fail(ErrorKind::Invalid, "{}={}: '{}' is not a number", setting.name, text, text);
  *value = number;
  return {};
}

}  // namespace doorbell
