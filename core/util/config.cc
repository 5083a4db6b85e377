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

Context::Context(const Overrides& overrides) : config_(config()), outer_(t_override) {
#define SETTING(type, field, value, name, text) \
  if (overrides.field) config_.field = *overrides.field;
#include "core/util/config.def"
#undef SETTING
  t_override = &config_;
}

Context::Context(const Config* config) : config_(*config), outer_(t_override) {
  t_override = &config_;
}

Context::~Context() { t_override = outer_; }

}  // namespace doorbell::core
