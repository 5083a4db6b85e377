// Text to settings.
#include "runtime/environment.h"

#include <unistd.h>

#include <charconv>
#include <map>
#include <string>
#include <string_view>

#include "base/util/types.h"

namespace doorbell::runtime {
namespace {

Result<void> parse(const char* name, const std::string& text, int* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  if (error != std::errc() || end != text.data() + text.size())
    return fail(ErrorKind::Invalid, "{}={}: '{}' is not a number", name, text, text);
  return {};
}

Result<void> parse(const char* name, const std::string& text, bool* out) {
  if (text != "0" && text != "1")
    return fail(ErrorKind::Invalid, "{}={}: '{}' is neither 0 nor 1", name, text, text);
  *out = text == "1";
  return {};
}

Result<void> parse(const char*, const std::string& text, std::string* out) {
  *out = text;
  return {};
}

}  // namespace

os::Environment process_environment() {
  std::map<std::string, std::string, std::less<>> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const usize equals = text.find('=');
    if (equals != std::string_view::npos)
      variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return os::Environment(std::move(variables));
}

Result<core::Config> read_environment(const os::Environment& environment) {
  core::Config config;
#define SETTING(type, field, value, name, text)                             \
  if (const std::string_view found = environment.get(name); !found.empty()) \
    TRY(parse(name, std::string(found), &config.field));
#include "base/util/try.h"
#include "core/util/config.def"
#undef SETTING
  // Without a home nothing is kept on disk, which is no reason to fail.
  if (config.cache_directory.empty())
    config.cache_directory = os::cache_folder(environment).value_or("");
  return config;
}

}  // namespace doorbell::runtime
