// Text to settings.
#include "runtime/environment.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/util/suggest.h"
#include "base/util/try.h"
#include "base/util/types.h"
#include "runtime/device_table.h"

extern char** environ;  // no header of macOS declares it

namespace doorbell::runtime {
namespace {

// ---- names that are nearly ours -----------------------------------------------------------------

struct Known {
  std::string name;
  bool is_text;  // any value is one
};

std::vector<Known> known_settings() {
  std::vector<Known> known;
#define SETTING(type, field, value, name, text) \
  known.push_back({name, std::is_same_v<type, std::string>});
#include "core/util/config.def"
#undef SETTING
  for (const DeclaredSetting& declared : device_settings())
    known.push_back({declared.setting.name, declared.is_text});
  return known;
}

// One edit away from the name of a setting by accident.
constexpr std::array kOthers = {"CACHE_DIR", "EXPORTS", "IMAGES", "PROFILES"};

// Other programs' variables are none of our business. So only what is one edit away, begins alike
// and has a value that the setting could have; names of three letters are near to too many.
bool is_slip_of(std::string_view name, std::string_view value, const Known& known) {
  constexpr usize kShort = 3;
  if (known.name.size() <= kShort || name.size() <= kShort || name[0] != known.name[0])
    return false;
  if (edit_distance(name, known.name) != 1) return false;
  const bool is_number = value.find_first_not_of("-0123456789") == std::string_view::npos;
  return known.is_text || is_number;
}

}  // namespace

std::vector<std::string> slips(const os::Environment& environment) {
  const std::vector<Known> settings = known_settings();
  std::vector<std::string> found;
  for (const auto& [name, value] : environment.all()) {
    const auto is_name = [&name](const Known& known) { return known.name == name; };
    if (value.empty() || std::ranges::any_of(settings, is_name) ||
        std::ranges::find(kOthers, name) != kOthers.end())
      continue;
    for (const Known& known : settings) {
      if (!is_slip_of(name, value, known)) continue;
      found.push_back(
          fmt::format("{}={} is no setting; did you mean {}?", name, value, known.name));
      break;
    }
  }
  return found;
}

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
    TRY(parse_setting(Setting{name, text}, std::string(found), &config.field));
#define NUMBER(field, value, least, most, name, text)                       \
  if (const std::string_view found = environment.get(name); !found.empty()) \
    TRY(parse_setting(Setting{name, text, least, most}, std::string(found), &config.field));
#include "core/util/config.def"
#undef SETTING
  for (const DeclaredSetting& declared : device_settings()) {
    const std::string name = declared.setting.name;
    if (const std::string_view found = environment.get(name); !found.empty())
      config.device_settings[name] = found;
  }
  TRY(check_device_settings(config.device_settings));
  // Without a home nothing is kept on disk, which is no reason to fail.
  if (config.cache_directory.empty())
    config.cache_directory = os::cache_folder(environment).value_or("");
  return config;
}

}  // namespace doorbell::runtime
