// Whose work rests on what a dead queue did not do, and whose does not.
#include "hcq/queue/waits.h"

#include <gtest/gtest.h>

namespace doorbell::hcq {
namespace {

struct WaitsTest : ::testing::Test {
  std::shared_ptr<Waits> a = std::make_shared<Waits>("A"), b = std::make_shared<Waits>("B"),
                         c = std::make_shared<Waits>("C");
  const Error why = fail(ErrorKind::DeviceLost, "burnt");

  static std::string text(const Result<void>& result) {
    return result ? "" : result.error().message;
  }
};

TEST_F(WaitsTest, WorkOnWhatWasDoneIsRight) {
  b->add(1, 1, a, 5, 0);
  a->died(5, why);
  EXPECT_TRUE(b->check(1, 1));
  EXPECT_TRUE(b->report(1, 1));
  EXPECT_TRUE(a->check_for_others(5, 5));
  EXPECT_FALSE(b->is_dead());
}

TEST_F(WaitsTest, WorkOnWhatADeadQueueDidNotDoIsToldOnce) {
  b->add(3, 3, a, 5, 0);
  a->died(4, why);
  a->died(9, why);  // the first one counts
  EXPECT_TRUE(a->is_dead());
  const std::string told = "B waited before position 3 for position 5 of the A, but: burnt";
  EXPECT_TRUE(b->check(2, 2));
  EXPECT_EQ(text(b->check(3, 3)), told);
  // Until somebody asks for all, it holds for what follows, too.
  EXPECT_EQ(text(b->check(4, 4)), told);
  EXPECT_EQ(text(b->check_for_others(4, 4)), told);
  EXPECT_TRUE(b->report(2, 4));
  const Result<void> reported = b->report(4, 4);
  EXPECT_EQ(text(reported), told);
  EXPECT_EQ(reported.error().kind, ErrorKind::DeviceLost);
  EXPECT_TRUE(b->report(4, 4));
  EXPECT_TRUE(b->check(3, 4));
  EXPECT_TRUE(b->check_for_others(5, 5));
}

TEST_F(WaitsTest, NobodyIsToWaitForADeadQueue) {
  a->died(4, why);
  EXPECT_TRUE(a->check_for_others(4, 4));
  EXPECT_EQ(text(a->check_for_others(5, 4)), "A died before position 5: burnt");
}

TEST_F(WaitsTest, ItIsToldOverSeveralQueues) {
  b->add(3, 3, a, 5, 0);
  c->add(1, 1, b, 2, 0);
  c->add(2, 2, b, 4, 0);
  a->died(4, why);
  EXPECT_FALSE(b->report(5, 5));
  EXPECT_TRUE(c->check(1, 1));
  // C's work still depends on the work of B that was reported.
  EXPECT_EQ(text(c->check(2, 2)),
            "C waited before position 2 for position 4 of the B, but: "
            "B waited before position 3 for position 5 of the A, but: burnt");
  EXPECT_FALSE(c->report(2, 2));
  // What B did later is right.
  c->add(3, 3, b, 6, 2);
  EXPECT_TRUE(c->check(3, 3));
}

TEST_F(WaitsTest, AWaitInTheMiddleOfARunIsNotOverWithItsFirstPosition) {
  b->add(1, 4, a, 5, 0);
  EXPECT_TRUE(b->check(1, 1));
  a->died(4, why);
  EXPECT_FALSE(b->check(4, 4));
}

// As the parts of a graph do.
TEST_F(WaitsTest, QueuesMayWaitForEachOther) {
  for (const bool dies : {false, true}) {
    auto x = std::make_shared<Waits>("X"), y = std::make_shared<Waits>("Y");
    x->add(1, 3, y, 2, 0);
    y->add(1, 3, x, 2, 0);
    y->add(1, 3, c, 1, 0);
    if (dies) c->died(0, why);
    EXPECT_EQ(x->check(3, 3).has_value(), !dies);
    EXPECT_EQ(y->check(3, 3).has_value(), !dies);
    x->close(3);
    y->close(3);
  }
}

TEST_F(WaitsTest, AQueueThatIsGoneIsStillAnsweredFor) {
  b->add(3, 3, a, 5, 0);
  c->add(1, 1, b, 3, 0);
  a->died(4, why);
  b->close(3);
  b.reset();
  EXPECT_FALSE(c->check(1, 1));
}

TEST_F(WaitsTest, WaitsThatAreOverAreForgotten) {
  for (const bool is_one_dead : {false, true}) {
    if (is_one_dead) c->died(0, why);
    b = std::make_shared<Waits>("B");
    for (Position i = 1; i <= 1000; ++i) b->add(i, i, a, i, i - 1);
    EXPECT_LT(a.use_count(), 40);
    EXPECT_TRUE(b->check(1000, 1000));
    EXPECT_EQ(a.use_count(), 1);
    // None of these is.
    for (Position i = 1; i <= 1000; ++i) b->add(2000 + i, 2000 + i, a, i, 1000);
    EXPECT_EQ(a.use_count(), 1001);
    b->close(1000);
    EXPECT_EQ(a.use_count(), 1);
  }
}

}  // namespace
}  // namespace doorbell::hcq
