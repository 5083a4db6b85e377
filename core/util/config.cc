// The process's settings and each thread's innermost override.
#include "core/util/config.h"

#include <utility>

namespace doorbell::core {
namespace {

Config& process_config() {
  static Config& config = *new Config;  // never freed: read by threads while the process exits
  return config;
}

thread_local const Config* t_override = nullptr;

}  // namespace

const Config& config() { return t_override != nullptr ? *t_override : process_config(); }

void set_config(Config config) { process_config() = std::move(config); }

Result<void> check_ranges(const Config& config) {
#define SETTING(type, field, value, name, text)
#define NUMBER(field, value, least, most, name, text) \
  if (config.field < least || config.field > most)    \
    return fail(ErrorKind::Invalid, "{}={}: expected {} to {}", name, config.field, least, most);
#include "core/util/config.def"
#undef SETTING
  return {};
}

Config overridden(Config config, const Overrides& overrides) {
#define SETTING(type, field, value, name, text) \
  if (overrides.field) config.field = *overrides.field;
#include "core/util/config.def"
#undef SETTING
  for (const auto& [name, value] : overrides.device_settings) config.device_settings[name] = value;
  return config;
}

Context::Context(const Overrides& overrides)
    : config_(overridden(config(), overrides)), outer_(t_override) {
  t_override = &config_;
}

Context::Context(const Config* config) : config_(*config), outer_(t_override) {
  t_override = &config_;
}

Context::~Context() { t_override = outer_; }

}  // namespace doorbell::core
