// Overrides hold for a scope and a thread.
#include "core/util/config.h"

#include <thread>

#include <gtest/gtest.h>

namespace doorbell::core {
namespace {

TEST(Config, ContextsNestAndEnd) {
  const int before = config().debug;
  {
    Context outer({.debug = 3, .noopt = true});
    EXPECT_EQ(config().debug, 3);
    {
      Context inner({.debug = 5});
      EXPECT_EQ(config().debug, 5);
      EXPECT_TRUE(config().noopt);
    }
    EXPECT_EQ(config().debug, 3);
    int elsewhere = -1;
    std::thread([&] { elsewhere = config().debug; }).join();
    EXPECT_EQ(elsewhere, before);
    const Config& ours = config();
    std::thread([&] {
      Context handed(&ours);
      elsewhere = config().debug;
    }).join();
    EXPECT_EQ(elsewhere, 3);
  }
  EXPECT_EQ(config().debug, before);
}

}  // namespace
}  // namespace doorbell::core
