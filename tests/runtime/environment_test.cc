// Settings from a test's environment, and the messages for malformed ones.
#include "runtime/environment.h"

#include <map>

#include <gtest/gtest.h>

namespace doorbell::runtime {
namespace {

Result<core::Config> read(std::map<std::string, std::string, std::less<>> variables) {
  return read_environment(os::Environment(std::move(variables)));
}

TEST(Environment, LeavesDefaults) {
  core::Config config = *read({{"DEBUG", ""}});
  EXPECT_EQ(config.debug, 0);
  EXPECT_EQ(config.dev, "");
  EXPECT_EQ(config.cpu_threads, 0);
  EXPECT_TRUE(config.lru);
  EXPECT_TRUE(config.schedule_cache);
  EXPECT_EQ(config.cache_directory, "");
}

TEST(Environment, ReadsEachType) {
  core::Config config = *read(
      {{"DEBUG", "4"}, {"DEV", "CPU:CLANG"}, {"CPU_THREADS", "3"}, {"NOOPT", "1"}, {"LRU", "0"}});
  EXPECT_EQ(config.debug, 4);
  EXPECT_EQ(config.dev, "CPU:CLANG");
  EXPECT_EQ(config.cpu_threads, 3);
  EXPECT_TRUE(config.noopt);
  EXPECT_FALSE(config.lru);
}

TEST(Environment, FindsTheCacheDirectory) {
  EXPECT_EQ(read({{"HOME", "/home/a"}})->cache_directory, "/home/a/.cache/doorbell");
  EXPECT_EQ(read({{"HOME", "/home/a"}, {"XDG_CACHE_HOME", "/c"}})->cache_directory, "/c/doorbell");
  EXPECT_EQ(read({{"HOME", "/home/a"}, {"CACHEDIR", "/d"}})->cache_directory, "/d");
}

TEST(Environment, TheProcessHasAPath) {
  EXPECT_FALSE(process_environment().get("PATH").empty());
}

TEST(Environment, NamesWhatIsMalformed) {
  EXPECT_EQ(read({{"DEBUG", "two"}}).error().message, "DEBUG=two: 'two' is not a number");
  EXPECT_EQ(read({{"PARALLEL", "4x"}}).error().message, "PARALLEL=4x: '4x' is not a number");
  EXPECT_EQ(read({{"NOOPT", "yes"}}).error().message, "NOOPT=yes: 'yes' is neither 0 nor 1");
}

}  // namespace
}  // namespace doorbell::runtime
