// Peers: what this process knows of the others while it waits for them, and whom it names when it
// has waited too long. Whoever waits asks those that it waits for. Their answers say whether they
// are at work or wait themselves, and for whom: then those are asked, too. So a process is named
// for what it itself answered, or did not, however many others wait in between.
//
// Thread safety: one call at a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::mpi {

// "ranks 0, 1 and 2".
std::string list_ranks(const std::vector<int>& ranks);

class Peers {
 public:
  Peers(int rank, int size) : rank_(rank), peers_(static_cast<usize>(size)) {}

  // This process is in an exchange with these, which must live until it ends.
  void begin(const std::vector<int>& ranks) {
    ++exchanges_;
    waits_for_ = &ranks;
    has_asked_ = false;
  }
  void end() { waits_for_ = nullptr; }

  // What this process answers.
  std::string answer() const;
  void answered(int rank, std::string_view answer);
  // Whom to ask now; counts the question of each.
  std::vector<int> to_ask();
  // Those of them that do not answer.
  static constexpr u32 kUnanswered = 4;  // questions in a row
  std::vector<int> silent() const;
  // Why the exchange, which waited so long, is not done.
  Error missing(const std::string& what, f64 seconds) const;

 private:
  struct Peer {
    u32 unanswered = 0;  // questions since it answered last
    bool is_known = false;
    u64 exchanges = 0;           // that it had begun then
    std::vector<int> waits_for;  // none: it was at work
  };
  Peer& at(int rank) { return peers_[static_cast<usize>(rank)]; }
  const Peer& at(int rank) const { return peers_[static_cast<usize>(rank)]; }
  // Those that this process waits for, those that they wait for, and so on.
  std::vector<int> reached() const;

  int rank_;
  std::vector<Peer> peers_;
  u64 exchanges_ = 0;
  const std::vector<int>* waits_for_ = nullptr;
  bool has_asked_ = false;  // since begin()
};

}  // namespace doorbell::mpi
