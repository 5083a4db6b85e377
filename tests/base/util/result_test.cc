// Result, Error and TRY: success, failure, what crosses a TRY, and where an error says it was made.
#include "base/util/result.h"
#include "base/util/try.h"

#include <cerrno>
#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace doorbell {
namespace {

Result<int> half(int value) {
  if (value % 2 != 0) return fail(ErrorKind::Invalid, "{} is odd, expected even", value);
  return value / 2;
}

Result<std::string> quarter(int value) {
  TRY(int once, half(value));
  int twice = 0;
  TRY(twice, half(once));
  return std::to_string(twice);
}

Result<void> must_be_even(int value) {
  TRY(half(value));
  return {};
}

TEST(Result, FailureCarriesKindMessageAndPlace) {
  Result<int> result = half(3);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().kind, ErrorKind::Invalid);
  EXPECT_STREQ(result.error().what(), "3 is odd, expected even");
  EXPECT_EQ(result.error().os_errno, 0);
  EXPECT_EQ(result.error().line, 15);
  EXPECT_STREQ(result.error().file, "tests/base/util/result_test.cc");
  EXPECT_EQ(to_string(result.error()),
            "invalid: 3 is odd, expected even (tests/base/util/result_test.cc:15)");
}

TEST(Result, TryPassesTheFirstFailureOn) {
  EXPECT_STREQ(quarter(3).error().what(), "3 is odd, expected even");
  EXPECT_STREQ(quarter(6).error().what(), "3 is odd, expected even");
  EXPECT_STREQ(must_be_even(5).error().what(), "5 is odd, expected even");
}

TEST(Result, TryTakesTheValue) {
  EXPECT_EQ(*quarter(12), "3");
  EXPECT_TRUE(must_be_even(4).has_value());
}

TEST(Result, ValueOfAFailureIsOurMistake) {
  try {
    half(7).value();
    FAIL() << "no exception";
  } catch (const InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("7 is odd"), std::string::npos) << error.what();
  }
  EXPECT_THROW(static_cast<void>(half(4).error()), InternalError);
  EXPECT_THROW(must_be_even(5).value(), InternalError);
}

TEST(Result, ValueOr) {
  EXPECT_EQ(half(5).value_or(-1), -1);
  EXPECT_EQ(half(8).value_or(-1), 4);
}

TEST(Result, HoldsMoveOnlyValuesAndConvertsToBase) {
  struct Base {
    virtual ~Base() = default;
    virtual int number() const { return 1; }
  };
  struct Derived : Base {
    int number() const override { return 2; }
  };
  auto make = []() -> Result<std::unique_ptr<Base>> { return std::make_unique<Derived>(); };
  EXPECT_EQ((*make())->number(), 2);
  EXPECT_EQ(sizeof(Result<void>), sizeof(void*));
}

TEST(Error, ErrnoGivesKindAndWords) {
  Error error = fail_errno(ENOENT, "open {}", "/dev/kfd");
  EXPECT_EQ(error.kind, ErrorKind::NotFound);
  EXPECT_EQ(error.os_errno, ENOENT);
  EXPECT_STREQ(error.what(), "open /dev/kfd: No such file or directory");
  EXPECT_EQ(fail_errno(EACCES, "x").kind, ErrorKind::Permission);
  EXPECT_EQ(fail_errno(EBUSY, "x").kind, ErrorKind::Busy);
  EXPECT_EQ(fail_errno(EIO, "x").kind, ErrorKind::Os);
}

TEST(Error, DeviceIsPrinted) {
  Error error = fail(ErrorKind::DeviceLost, "ring 0 stopped");
  error.device = "AMD:1";
  EXPECT_EQ(to_string(error).substr(0, 34), "device lost: AMD:1: ring 0 stopped");
}

}  // namespace
}  // namespace doorbell
