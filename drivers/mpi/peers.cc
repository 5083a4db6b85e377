// Questions, answers, and the names of those that are missing.
#include "drivers/mpi/peers.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace doorbell::mpi {
namespace {

// Processes that are asked, and that an answer names.
constexpr usize kMaxAsked = 64;

// The numbers of a text, up to what is none.
std::vector<u64> numbers_of(std::string_view text) {
  std::vector<u64> numbers;
  const char *at = text.data(), *end = at + text.size();
  for (u64 number = 0;;) {
    while (at != end && *at == ' ') ++at;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc()) return numbers;
    numbers.push_back(number);
    at = next;
  }
}

}  // namespace

std::string list_ranks(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (usize i = 0; i < ranks.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ", ranks[i]);
  return text;
}

std::string Peers::answer() const {
  std::string text = std::to_string(exchanges_);
  if (waits_for_ == nullptr) return text;
  usize count = 0;
  for (const int rank : *waits_for_)
    if (rank != rank_ && count++ < kMaxAsked) text += fmt::format(" {}", rank);
  return text;
}

void Peers::answered(int rank, std::string_view answer) {
  const std::vector<u64> numbers = numbers_of(answer);
  if (numbers.empty()) return;
  Peer& peer = at(rank);
  peer = {.is_known = true, .exchanges = numbers[0]};
  for (usize i = 1; i < numbers.size(); ++i)
    if (numbers[i] < peers_.size()) peer.waits_for.push_back(static_cast<int>(numbers[i]));
}

std::vector<int> Peers::reached() const {
  if (waits_for_ == nullptr) return {};
  std::vector<int> found;
  const auto add = [&](const std::vector<int>& ranks) {
    for (const int rank : ranks)
      if (rank != rank_ && found.size() < kMaxAsked && !std::ranges::count(found, rank))
        found.push_back(rank);
  };
  add(*waits_for_);
  for (usize i = 0; i < found.size(); ++i) add(at(found[i]).waits_for);
  return found;
}

std::vector<int> Peers::to_ask() {
  if (!has_asked_) std::ranges::fill(peers_, Peer());
  has_asked_ = true;
  std::vector<int> asked = reached();
  for (const int rank : asked) ++at(rank).unanswered;
  return asked;
}

std::vector<int> Peers::silent() const {
  std::vector<int> found = reached();
  std::erase_if(found, [&](int rank) { return at(rank).unanswered < kUnanswered; });
  return found;
}

Error Peers::missing(const std::string& what, f64 seconds) const {
  const std::vector<int> silent = this->silent(), all = reached();
  std::vector<int> at_work;
  for (const int rank : all) {
    const Peer& peer = at(rank);
    if (peer.unanswered < kUnanswered && peer.is_known && peer.waits_for.empty())
      at_work.push_back(rank);
  }
  const std::string waited = fmt::format("{} waited {:g} s for ", what, seconds);
  if (!silent.empty())
    return fail(ErrorKind::Timeout, "{}{}, which {} not answer: dead or stopped", waited,
                list_ranks(silent), silent.size() == 1 ? "does" : "do");
  if (!at_work.empty())
    return fail(ErrorKind::Timeout, "{}{}, which {} at work in exchange {}, this one in {}", waited,
                list_ranks(at_work), at_work.size() == 1 ? "is" : "are", at(at_work[0]).exchanges,
                exchanges_);
  return fail(ErrorKind::Timeout, "{}{}: every process waits, perhaps for different exchanges",
              waited, list_ranks(all));
}

}  // namespace doorbell::mpi
