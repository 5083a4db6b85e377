// Whom a process names that has waited too long, by what the others answered.
#include "drivers/mpi/peers.h"

#include <gtest/gtest.h>

namespace doorbell::mpi {
namespace {

const std::vector<int> kAll{0, 1, 2, 3};

// So many questions, of which these answer each.
void ask(Peers& peers, int questions, const std::vector<std::pair<int, std::string>>& answers) {
  for (int i = 0; i < questions; ++i) {
    peers.to_ask();
    for (const auto& [rank, answer] : answers) peers.answered(rank, answer);
  }
}

std::string missing(const Peers& peers) { return peers.missing("a sum", 2).message; }

TEST(Peers, NameWhoDoesNotAnswer) {
  Peers peers(0, 4);
  peers.begin(kAll);
  EXPECT_EQ(peers.to_ask(), (std::vector<int>{1, 2, 3}));
  ask(peers, 8, {{1, "1 0 2 3"}, {3, "0"}});
  EXPECT_EQ(missing(peers), "a sum waited 2 s for rank 2, which does not answer: dead or stopped");
}

TEST(Peers, NameWhoIsAtWork) {
  Peers peers(0, 4);
  for (int i = 0; i < 3; ++i) peers.begin(kAll);
  ask(peers, 8, {{1, "2"}, {2, "3 0 1 3"}, {3, "2"}});
  EXPECT_EQ(missing(peers),
            "a sum waited 2 s for ranks 1 and 3, which are at work in exchange 2, this one in 3");
}

// Rank 1 waits for 2, which waits for 3: that one is asked, though nothing is expected of it.
TEST(Peers, FollowThoseThatWaitThemselves) {
  Peers peers(0, 4);
  const std::vector<int> one{1};
  peers.begin(one);
  EXPECT_EQ(peers.to_ask(), one);
  peers.answered(1, "7 2");
  EXPECT_EQ(peers.to_ask(), (std::vector<int>{1, 2}));
  ask(peers, 6, {{1, "7 2"}, {2, "9 3"}});
  EXPECT_EQ(missing(peers), "a sum waited 2 s for rank 3, which does not answer: dead or stopped");
}

TEST(Peers, SayWhatTheyThemselvesWaitFor) {
  Peers peers(2, 4);
  EXPECT_EQ(peers.answer(), "0");
  peers.begin(kAll);
  EXPECT_EQ(peers.answer(), "1 0 1 3");
  peers.end();
  EXPECT_EQ(peers.answer(), "1");
}

TEST(Peers, ForgetWhatWasAnsweredInAnotherExchange) {
  Peers peers(0, 2);
  const std::vector<int> both{0, 1};
  peers.begin(both);
  ask(peers, 8, {});
  peers.end();
  peers.begin(both);
  ask(peers, 3, {});
  EXPECT_EQ(missing(peers),
            "a sum waited 2 s for rank 1: every process waits, perhaps for different exchanges");
}

// What another process sends need not make sense.
TEST(Peers, IgnoreAnswersThatAreNone) {
  Peers peers(0, 2);
  const std::vector<int> both{0, 1};
  peers.begin(both);
  ask(peers, 8, {{1, "?"}, {1, ""}});
  peers.answered(1, "99999999999999999999999");
  EXPECT_EQ(missing(peers), "a sum waited 2 s for rank 1, which does not answer: dead or stopped");
  peers.answered(1, "4 17 x");
  EXPECT_EQ(missing(peers),
            "a sum waited 2 s for rank 1, which is at work in exchange 4, this one in 1");
}

}  // namespace
}  // namespace doorbell::mpi
