// Settings as a driver declares them: a struct with a default for each, and fields(), which names
// them. The environment is left to runtime/, which hands over values as text.
//
//   struct Settings {
//     int threads = 0;
//
//     static void fields(auto& settings, auto f) {
//       auto& [threads] = settings;
//       f(Setting{"CPU_THREADS", "Workers; 0: one per hardware thread.", 0, 1024}, threads);
//     }
//   };
#pragma once

#include <climits>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell {

struct Setting {
  const char* name;               // of the environment variable
  const char* text;               // what it does, for people
  int least = 0, most = INT_MAX;  // of an int
};

// By name. An empty value leaves the default.
using SettingValues = std::map<std::string, std::string, std::less<>>;

// The error names the setting, its value, and what was expected. An optional is not set by default.
Result<void> parse_setting(const Setting& setting, const std::string& text, int* value);
Result<void> parse_setting(const Setting& setting, const std::string& text, bool* value);
Result<void> parse_setting(const Setting& setting, const std::string& text, std::string* value);
Result<void> parse_setting(const Setting& setting, const std::string& text,
                           std::optional<bool>* value);
Result<void> parse_setting(const Setting& setting, const std::string& text,
                           std::optional<u64>* value);

// What T declares, with its defaults for values that are missing. Ignores other settings' values.
template <class T>
Result<T> read_settings(const SettingValues& values) {
  T settings;
  Result<void> read;
  T::fields(settings, [&](const Setting& setting, auto& field) {
    const auto found = values.find(setting.name);
    if (read && found != values.end() && !found->second.empty())
      read = parse_setting(setting, found->second, &field);
  });
  if (!read) return std::move(read).error();
  return settings;
}

// A setting of any type.
struct DeclaredSetting {
  Setting setting;
  bool is_text;  // any value is one
  Result<void> (*check)(const Setting& setting, const std::string& text);
};

template <class V>
Result<void> check_setting(const Setting& setting, const std::string& text) {
  V value{};
  return parse_setting(setting, text, &value);
}

template <class T>
std::vector<DeclaredSetting> declared_settings() {
  std::vector<DeclaredSetting> declared;
  T settings;
  T::fields(settings, [&]<class V>(const Setting& setting, V&) {
    declared.push_back({setting, std::is_same_v<V, std::string>, check_setting<V>});
  });
  return declared;
}

}  // namespace doorbell
