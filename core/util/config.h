// Config: the settings of the process as one plain struct, and Context, which overrides some of
// them for a scope. Reading the environment is left to runtime/; nothing below it calls getenv.
//
//   Context context({.debug = 2});
//
// Thread safety: set_config before other threads read. A Context holds for its own thread only;
// to pass settings to another thread, pass config() and open a Context there.
#pragma once

#include <optional>
#include <string>

#include "base/util/result.h"
#include "base/util/setting.h"

namespace doorbell::core {

struct Config {
#define SETTING(type, field, value, name, text) type field = value;
#include "core/util/config.def"
#undef SETTING
  // Of drivers (base/util/setting.h), by name. Most are read when a device is opened.
  SettingValues device_settings;
};

const Config& config();
void set_config(Config config);
// Fails if a number is outside its range; the message has the name and the range.
Result<void> check_ranges(const Config& config);

struct Overrides {
#define SETTING(type, field, value, name, text) std::optional<type> field = {};
#include "core/util/config.def"
#undef SETTING
  SettingValues device_settings = {};
};

// `config` with what is overridden.
Config overridden(Config config, const Overrides& overrides);

class Context {
 public:
  explicit Context(const Overrides& overrides);
  // All settings at once, copied: those of the thread that handed over work.
  explicit Context(const Config* config);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

 private:
  Config config_;
  const Config* outer_;
};

}  // namespace doorbell::core
