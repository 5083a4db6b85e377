// Owns the one logger. It is not in spdlog's registry, so that it does not affect an application's
// use of spdlog.
#include "base/util/log.h"

#include <utility>

#include <spdlog/sinks/stdout_sinks.h>

#include "base/util/check.h"

namespace doorbell {

spdlog::logger& log() {
  // Never freed: threads may log while the process exits.
  static spdlog::logger& logger = *[] {
    auto* made = new spdlog::logger("doorbell", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("[%H:%M:%S.%e] %l %v");
    made->set_level(spdlog::level::off);
    made->flush_on(spdlog::level::warn);
    return made;
  }();
  return logger;
}

void set_log_level(LogLevel level) {
  switch (level) {
    case LogLevel::Off: return log().set_level(spdlog::level::off);
    case LogLevel::Error: return log().set_level(spdlog::level::err);
    case LogLevel::Warn: return log().set_level(spdlog::level::warn);
    case LogLevel::Info: return log().set_level(spdlog::level::info);
    case LogLevel::Debug: return log().set_level(spdlog::level::debug);
    case LogLevel::Trace: return log().set_level(spdlog::level::trace);
  }
  UNREACHABLE("log level {}", static_cast<int>(level));
}

void set_log_sinks(std::vector<spdlog::sink_ptr> sinks) { log().sinks() = std::move(sinks); }

}  // namespace doorbell
