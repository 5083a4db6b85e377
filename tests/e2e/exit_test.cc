// The end of a process: destructors of statics may compute, and threads may be computing. Each is a
// process of its own, several times.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include <gtest/gtest.h>

#include "runtime/doorbell.h"

namespace doorbell {
namespace {

constexpr int kTimes = 4;

f32 sum_of_squares(i64 n) {
  const Tensor x = Tensor::arange(n).cast(dtypes::f32).contiguous();
  return (x * x).sum().item<f32>();
}

struct AtExit {
  explicit AtExit(i64 n) : n(n) {}
  ~AtExit() {
    const bool right = sum_of_squares(n) == 328350;
    std::fputs(right ? "right" : "wrong", stderr);
  }
  i64 n;
};

struct ExitTest : ::testing::Test {
  ExitTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(ExitTest, ADestructorOfAStaticComputes) {
  for (int i = 0; i < kTimes; ++i) {
    EXPECT_EXIT(
        {
          static const AtExit made_first(100);
          if (sum_of_squares(100) != 328350) std::abort();
          std::exit(0);
        },
        ::testing::ExitedWithCode(0), "right");
  }
}

TEST_F(ExitTest, ADestructorOfAStaticComputesFirst) {
  for (int i = 0; i < kTimes; ++i) {
    EXPECT_EXIT(
        {
          static const AtExit made_first(100);
          std::exit(0);
        },
        ::testing::ExitedWithCode(0), "right");
  }
}

// A kernel that the process has not had: what compiles it may be gone.
struct CompilesAtExit {
  explicit CompilesAtExit(i64 n) : n(n) {}
  ~CompilesAtExit() {
    try {
      const bool right = sum_of_squares(n) == static_cast<f32>((n - 1) * n * (2 * n - 1) / 6);
      std::fputs(right ? "right" : "wrong", stderr);
    } catch (const Error& error) {
      std::fputs(error.what(), stderr);
    }
  }
  i64 n;
};

TEST_F(ExitTest, ADestructorOfAStaticCompiles) {
  for (const bool after_another : {false, true}) {
    for (int i = 0; i < kTimes; ++i) {
      EXPECT_EXIT(
          {
            setenv("CACHELEVEL", "0", 1);
            static const CompilesAtExit made_first(101);
            if (after_another && sum_of_squares(100) != 328350) std::abort();
            std::exit(0);
          },
          ::testing::ExitedWithCode(0), "right|cannot be compiled while the process exits");
    }
  }
}

TEST_F(ExitTest, AThreadComputesMeanwhile) {
  for (int i = 0; i < kTimes; ++i) {
    EXPECT_EXIT(
        {
          std::atomic<bool> began{false};
          std::thread([&] {
            for (i64 n = 1;; ++n) {
              (void)sum_of_squares(100);
              began = true;
            }
          }).detach();
          while (!began) std::this_thread::yield();
          std::exit(0);
        },
        ::testing::ExitedWithCode(0), "");
  }
}

}  // namespace
}  // namespace doorbell
