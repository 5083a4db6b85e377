// When observers are called for work, and for its end.
#include "base/util/progress.h"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace doorbell {
namespace {

class Listener final : public ProgressObserver {
 public:
  explicit Listener(i64 quiet_ns) { set_progress_observer(this, quiet_ns); }
  ~Listener() override { set_progress_observer(nullptr); }
  void tell(const Progress& p) override {
    heard.push_back(std::string(p.what) + " " + std::to_string(p.done) + "/" +
                    std::to_string(p.total));
  }
  void end() override { heard.push_back("end"); }

  std::vector<std::string> heard;
};

using Heard = std::vector<std::string>;

TEST(LongWork, WithoutAnObserverIsNothing) {
  LongWork work("waiting", 2);
  work.advance();
}

TEST(LongWork, IsToldTenTimesASecondAtMost) {
  Listener listener(0);
  {
    LongWork work("waiting", 100);
    work.advance(40);
    work.advance(1);
    std::this_thread::sleep_for(std::chrono::milliseconds(110));
    work.advance(2);
    EXPECT_EQ(listener.heard, (Heard{"waiting 40/100", "waiting 43/100"}));
  }
  EXPECT_EQ(listener.heard.back(), "end");
}

TEST(LongWork, ThatIsSoonDoneIsNotTold) {
  Listener listener(3'600'000'000'000);
  {
    LongWork work("waiting", 2);
    work.advance(2);
  }
  EXPECT_EQ(listener.heard, Heard{});
}

TEST(LongWork, ThatFailsEnds) {
  Listener listener(0);
  try {
    LongWork work("waiting", 2);
    work.advance();
    throw std::runtime_error("failed");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(listener.heard, (Heard{"waiting 1/2", "end"}));
}

TEST(LongWork, CountsTheStepsOfAllThreads) {
  Listener listener(0);
  {
    LongWork work("waiting", 4001);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        for (int step = 0; step < 1000; ++step) work.advance();
      });
    for (std::thread& thread : threads) thread.join();
    std::this_thread::sleep_for(std::chrono::milliseconds(110));
    work.advance();
    EXPECT_EQ(listener.heard.back(), "waiting 4001/4001");
  }
}

}  // namespace
}  // namespace doorbell
