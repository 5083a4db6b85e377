// Settings from a test's environment, and the messages for malformed ones.
#include "runtime/environment.h"

#include <map>

#include <gtest/gtest.h>

#include "runtime/device_table.h"
#include "tests/support/golden.h"

namespace doorbell::runtime {
namespace {

Result<core::Config> read(std::map<std::string, std::string, std::less<>> variables) {
  return read_environment(os::Environment(std::move(variables)));
}

TEST(Environment, LeavesDefaults) {
  core::Config config = *read({{"DEBUG", ""}});
  EXPECT_EQ(config.debug, 0);
  EXPECT_EQ(config.dev, "");
  EXPECT_TRUE(config.device_settings.empty());
  EXPECT_TRUE(config.lru);
  EXPECT_TRUE(config.schedule_cache);
  EXPECT_EQ(config.cache_directory, "");
}

TEST(Environment, ReadsEachType) {
  core::Config config = *read(
      {{"DEBUG", "4"}, {"DEV", "CPU:CLANG"}, {"CPU_THREADS", "3"}, {"NOOPT", "1"}, {"LRU", "0"}});
  EXPECT_EQ(config.debug, 4);
  EXPECT_EQ(config.dev, "CPU:CLANG");
  EXPECT_EQ(config.device_settings, (SettingValues{{"CPU_THREADS", "3"}}));
  EXPECT_TRUE(config.noopt);
  EXPECT_FALSE(config.lru);
}

TEST(Environment, FindsTheCacheDirectory) {
  EXPECT_EQ(read({{"HOME", "/home/a"}})->cache_directory, "/home/a/.cache/doorbell");
  EXPECT_EQ(read({{"HOME", "/home/a"}, {"XDG_CACHE_HOME", "/c"}})->cache_directory, "/c/doorbell");
  EXPECT_EQ(read({{"HOME", "/home/a"}, {"CACHEDIR", "/d"}})->cache_directory, "/d");
}

TEST(Environment, TheProcessHasAPath) { EXPECT_FALSE(process_environment().get("PATH").empty()); }

TEST(Environment, NamesWhatIsMalformed) {
  EXPECT_EQ(read({{"DEBUG", "two"}}).error().message, "DEBUG=two: 'two' is not a number");
  EXPECT_EQ(read({{"PARALLEL", "4x"}}).error().message, "PARALLEL=4x: '4x' is not a number");
  EXPECT_EQ(read({{"NOOPT", "yes"}}).error().message, "NOOPT=yes: 'yes' is neither 0 nor 1");
}

TEST(Environment, NamesTheRangeOfANumber) {
  EXPECT_EQ(read({{"CPU_THREADS", "-1"}}).error().message, "CPU_THREADS=-1: expected 0 to 1024");
  EXPECT_EQ(read({{"CPU_THREADS", "100000"}}).error().message,
            "CPU_THREADS=100000: expected 0 to 1024");
  EXPECT_EQ(read({{"PARALLEL", "99999999999999999999"}}).error().message,
            "PARALLEL=99999999999999999999: expected 0 to 1024");
  EXPECT_EQ(read({{"DEBUG", "-1"}}).error().message, "DEBUG=-1: expected 0 to 7");
  EXPECT_EQ(read({{"CACHELEVEL", "3"}}).error().message, "CACHELEVEL=3: expected 0 to 2");
  EXPECT_EQ(read({{"ALLREDUCE", "4"}}).error().message, "ALLREDUCE=4: expected 0 to 3");
  EXPECT_EQ(read({{"CHECK_GRAPHS", "2"}}).error().message, "CHECK_GRAPHS=2: expected -1 to 1");
  EXPECT_EQ(read({{"CPU_THREADS", "1024"}})->device_settings.at("CPU_THREADS"), "1024");
}

TEST(Environment, NamesMalformedSettingsOfDevices) {
  EXPECT_EQ(read({{"AMD_AQL", "2"}}).error().message, "AMD_AQL=2: '2' is neither 0 nor 1");
  EXPECT_EQ(read({{"IMAGE", "yes"}}).error().message, "IMAGE=yes: 'yes' is neither 0 nor 1");
  EXPECT_EQ(read({{"EMU_SEED", "7x"}}).error().message, "EMU_SEED=7x: '7x' is not a number");
  EXPECT_EQ(check_device_settings({{"ABACUS_BEADS", "3"}}).error().message,
            "no device has a setting ABACUS_BEADS");
}

TEST(Environment, IsDocumented) {
  const std::string page = testing::read_source("docs/env.md");
  std::vector<std::string> names;
  for (const DeclaredSetting& declared : device_settings()) names.push_back(declared.setting.name);
  EXPECT_EQ(names.size(), 24u);
#define SETTING(type, field, value, name, text) names.push_back(name);
#include "core/util/config.def"
#undef SETTING
  for (const std::string& name : names)
    EXPECT_NE(page.find("| `" + name + "` |"), std::string::npos) << name;
}

using Strings = std::vector<std::string>;

Strings slips_of(std::map<std::string, std::string, std::less<>> variables) {
  return slips(os::Environment(std::move(variables)));
}

TEST(Environment, FindsSlips) {
  EXPECT_EQ(slips_of({{"DEBG", "2"}}), Strings{"DEBG=2 is no setting; did you mean DEBUG?"});
  EXPECT_EQ(slips_of({{"CPU_THREAD", "3"}, {"NOOTP", "1"}}),
            (Strings{"CPU_THREAD=3 is no setting; did you mean CPU_THREADS?",
                     "NOOTP=1 is no setting; did you mean NOOPT?"}));
  EXPECT_EQ(slips_of({{"AMD_AQ", "1"}}), Strings{"AMD_AQ=1 is no setting; did you mean AMD_AQL?"});
}

TEST(Environment, LeavesOtherProgramsVariablesAlone) {
  EXPECT_EQ(slips_of({{"DEBUG", "2"}, {"DEBG", ""}}), Strings());     // ours; not set
  EXPECT_EQ(slips_of({{"DEBUGS", "*,-not_this"}}), Strings());        // no number
  EXPECT_EQ(slips_of({{"CCACHE", "1"}, {"CACHE", "1"}}), Strings());  // SCACHE: begin otherwise
  EXPECT_EQ(slips_of({{"CACHE_DIR", "/tmp/cache"}}), Strings());      // many programs'
  EXPECT_EQ(slips_of({{"DEVS", "1"}, {"LR", "0"}}), Strings());       // too short to tell
  EXPECT_EQ(slips_of({{"PATH", "/bin"}, {"HOME", "/root"}, {"TERM", "xterm"}}), Strings());
}

}  // namespace
}  // namespace doorbell::runtime
