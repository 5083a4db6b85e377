// The log is silent until a level is set, and then writes to the given sink.
#include "base/util/log.h"

#include <sstream>

#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>

namespace doorbell {
namespace {

TEST(Log, SilentUntilALevelIsSet) {
  std::ostringstream said;
  std::vector<spdlog::sink_ptr> before = log().sinks();
  auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(said);
  sink->set_pattern("%l %v");
  set_log_sinks({sink});

  log().error("unheard");
  EXPECT_EQ(said.str(), "");
  set_log_level(LogLevel::Info);
  log().debug("unheard too");
  log().info("{} kernels", 3);
  EXPECT_EQ(said.str(), "info 3 kernels\n");

  set_log_level(LogLevel::Off);
  set_log_sinks(before);
}

}  // namespace
}  // namespace doorbell
