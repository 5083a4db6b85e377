// Text to settings.
#include "runtime/environment.h"

#include <charconv>
#include <cstdlib>

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

// XDG Base Directory Specification: $XDG_CACHE_HOME, by default $HOME/.cache; relative paths are
// ignored. Empty where there is neither: then nothing is kept.
std::string cache_directory(const Environment& environment) {
  const std::string cache = environment("XDG_CACHE_HOME").value_or("");
  if (cache.starts_with('/')) return cache + "/doorbell";
  const std::string home = environment("HOME").value_or("");
  if (home.starts_with('/')) return home + "/.cache/doorbell";
  return "";
}

}  // namespace

Environment process_environment() {
  return [](const char* name) -> std::optional<std::string> {
    const char* text = std::getenv(name);
    if (text == nullptr) return std::nullopt;
    return std::string(text);
  };
}

Result<core::Config> read_environment(const Environment& environment) {
  core::Config config;
#define SETTING(type, field, value, name, text)                                         \
  if (const std::optional<std::string> found = environment(name); found && *found != "") \
    TRY(parse(name, *found, &config.field));
#include "core/util/config.def"
#undef SETTING
  if (config.cache_directory.empty()) config.cache_directory = cache_directory(environment);
  return config;
}

}  // namespace doorbell::runtime
