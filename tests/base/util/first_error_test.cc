// The first of several errors stays, also where threads race for it.
#include "base/util/first_error.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace doorbell {
namespace {

TEST(FirstError, IsNoneAtFirst) {
  const FirstError error;
  EXPECT_FALSE(error.is_set());
  EXPECT_TRUE(error.check());
}

TEST(FirstError, StaysWhenAnotherOneIsSet) {
  FirstError error;
  EXPECT_TRUE(error.set(fail(ErrorKind::DeviceLost, "the first")));
  EXPECT_FALSE(error.set(fail(ErrorKind::Timeout, "the second")));
  EXPECT_TRUE(error.is_set());
  const Result<void> found = error.check();
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, ErrorKind::DeviceLost);
  EXPECT_EQ(found.error().message, "the first");
}

TEST(FirstError, OneOfSeveralThreadsSetsIt) {
  FirstError error;
  std::atomic<int> first{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      if (error.set(fail(ErrorKind::DeviceLost, "lost"))) ++first;
      EXPECT_FALSE(error.check());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(first.load(), 1);
}

}  // namespace
}  // namespace doorbell
