// The library's log: one spdlog logger, silent until a level is set. Only runtime/ and tools/ set
// the level (from DEBUG); users pass sinks of their own to set_log_sinks. Include this from .cc
// files only: spdlog's headers are slow to compile.
//
//   log().debug("schedule: {} kernels", count);
//
// Thread safety: log() from any thread; the setters before other threads log.
#pragma once

#include <vector>

#include <spdlog/logger.h>

namespace doorbell {

enum class LogLevel { Off, Error, Warn, Info, Debug, Trace };

spdlog::logger& log();

void set_log_level(LogLevel level);

// Replaces the sink to stderr.
void set_log_sinks(std::vector<spdlog::sink_ptr> sinks);

}  // namespace doorbell
