// Operations, waiting, and asking who is missing.
#include "drivers/mpi/link.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>

#include "base/util/try.h"

namespace doorbell::mpi {
namespace {

// A process that is asked answers within this, unless it is stopped or dead.
constexpr auto kWatchEach = std::chrono::milliseconds(20);
// Whoever waits longer asks, again each time that this has passed.
constexpr u64 kAskEach_ns = 200'000'000;
constexpr u64 kMaxAwake_ns = 1'000'000'000;
constexpr u64 kMaxTurn_ns = 100'000'000;
constexpr u64 kMaxAsk = 64;  // processes that are asked
// Of at least eight questions in a row: then a process does not answer.
constexpr u32 kUnanswered = 4;

std::string list(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (usize i = 0; i < ranks.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ", ranks[i]);
  return text;
}

}  // namespace

Result<Link*> Link::open(const LinkOptions& options, os::Clock& clock) {
  TRY(const os::Library* library, os::Library::open_for_good(options.modules));
  TRY(auto* version, library->function<u32()>(kMpiVersionSymbol));
  if (version() != kMpiApiVersion)
    return fail(ErrorKind::Unsupported, "{} is of another build: version {}, expected {}",
                library->name(), version(), kMpiApiVersion);
  TRY(auto* table, library->function<const MpiApi*()>(kMpiApiSymbol));
  const MpiApi& api = *table();
  auto* link = new Link(api, api.name(), options.timeout_ns, clock);
  if (const int code = api.start(&link->job_)) return link->error_of(code, "starting MPI");
  link->peers_.resize(static_cast<usize>(link->job_.size));
  if (link->job_.size > 1) link->watcher_ = std::thread([link] { link->watch(); });
  return link;
}

Error Link::error_of(int code, const std::string& what) const {
  char text[256];
  api_.message(code, text, sizeof text);
  return fail(ErrorKind::DeviceLost, "{} ({}) on rank {}: {}", what, name_, job_.rank, text);
}

Result<Group> Link::group(const std::vector<int>& ranks) {
  std::vector<int> all(static_cast<usize>(job_.size));
  std::iota(all.begin(), all.end(), 0);
  if (ranks == all) return kWorld;
  std::lock_guard lock(api_mutex_);
  for (const auto& [known, group] : groups_)
    if (known == ranks) return group;
  Group made = 0;
  if (const int code = api_.group(ranks.data(), static_cast<int>(ranks.size()), &made))
    return error_of(code, "making a group of " + list(ranks));
  groups_.emplace_back(ranks, made);
  return made;
}

Result<void> Link::run(const Start& start, const std::string& what, const std::vector<int>& ranks) {
  TRY(failure_.check());
  operations_.fetch_add(1);
  Pending pending = 0;
  {
    std::lock_guard lock(api_mutex_);
    if (const int code = start(api_, &pending)) {
      const Error error = error_of(code, what);
      fail_all(error);
      return error;
    }
  }
  return wait(pending, what, ranks);
}

Result<void> Link::plain(Plain what, const void* from, void* to, i64 bytes) {
  std::lock_guard lock(api_mutex_);
  if (const int code = api_.plain(what, from, to, bytes)) return error_of(code, "a plain call");
  return {};
}

Result<bool> Link::is_done(Pending pending, const std::string& what) {
  std::lock_guard lock(api_mutex_);
  bool done = false;
  if (const int code = api_.test(pending, &done)) {
    const Error error = error_of(code, what);
    fail_all(error);
    return error;
  }
  return done;
}

Result<void> Link::wait(Pending pending, const std::string& what, const std::vector<int>& ranks) {
  constexpr u32 kLookEach = 16, kSpins = 2000;  // turns
  const u64 ask_each = std::min(kAskEach_ns, timeout_ns_ / 8);
  u64 last = clock_.now_ns(), waited = 0, asked = 0;
  for (u32 turn = 0;; ++turn) {
    TRY(const bool done, is_done(pending, what));
    if (done) [[likely]]
      return {};
    // Messages move only while someone looks, so this stays awake, as MPI's blocking calls do.
    if (turn % kLookEach != kLookEach - 1) continue;
    if (waited > kMaxAwake_ns)
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    else if (turn > kSpins)  // kernels may be waiting for this processor
      std::this_thread::yield();
    TRY(failure_.check());
    // While this process was itself stopped, it did not wait for others.
    const u64 now = clock_.now_ns();
    waited += std::min(now - last, kMaxTurn_ns);
    last = now;
    if (waited - asked > ask_each) {
      ask(ranks, asked == 0);
      asked = waited;
    }
    if (waited <= timeout_ns_) continue;
    std::lock_guard lock(api_mutex_);
    const Error error = missing(what, ranks);
    fail_all(error);
    return error;
  }
}

// The lock of MPI is held by the caller of all that follow, but ask() and watch().
void Link::post(int rank, Tag tag, std::string data) {
  auto kept = std::make_unique<std::string>(std::move(data));
  Pending pending = 0;
  const i64 bytes = static_cast<i64>(kept->size());
  if (api_.send(kWatch, kept->data(), bytes, rank, tag, &pending) == 0)
    outgoing_.push_back({pending, std::move(kept)});
}

void Link::ask(const std::vector<int>& ranks, bool is_first) {
  std::lock_guard lock(api_mutex_);
  for (usize i = 0; i < std::min<usize>(ranks.size(), kMaxAsk); ++i) {
    if (ranks[i] == job_.rank) continue;
    Peer& peer = peers_[static_cast<usize>(ranks[i])];
    peer.unanswered = is_first ? 1 : peer.unanswered + 1;
    post(ranks[i], kAsk, "?");
  }
}

// Who does not answer; else who is behind; else all of them.
Error Link::missing(const std::string& what, const std::vector<int>& ranks) {
  const u64 own = operations_.load();
  std::vector<int> silent, behind;
  for (int rank : ranks) {
    if (rank == job_.rank) continue;
    const Peer& peer = peers_[static_cast<usize>(rank)];
    if (peer.unanswered >= kUnanswered)
      silent.push_back(rank);
    else if (peer.operations < own)
      behind.push_back(rank);
  }
  const f64 seconds = static_cast<f64>(timeout_ns_) / 1e9;
  if (!silent.empty())
    return fail(ErrorKind::Timeout, "{} waited {:g} s for {}, which {} not answer: dead or stopped",
                what, seconds, list(silent), silent.size() == 1 ? "does" : "do");
  if (!behind.empty())
    return fail(ErrorKind::Timeout,
                "{} waited {:g} s for {}, which {} at work in exchange {}, this one in {}", what,
                seconds, list(behind), behind.size() == 1 ? "is" : "are",
                peers_[static_cast<usize>(behind[0])].operations, own);
  return fail(ErrorKind::Timeout, "{} waited {:g} s for {}", what, seconds, list(ranks));
}

void Link::fail_all(const Error& error) {
  if (!failure_.set(error)) return;
  const std::string text = fmt::format("rank {} gave up: {}", job_.rank, error.message);
  for (int rank = 0; rank < job_.size; ++rank)
    if (rank != job_.rank) post(rank, kGivesUp, text);
}

// Answers what others ask, and learns that one gave up.
void Link::answer_all() {
  std::erase_if(outgoing_, [&](const Outgoing& message) {
    bool done = false;
    return api_.test(message.pending, &done) != 0 || done;
  });
  for (const Tag tag : {kAsk, kAnswer, kGivesUp}) {
    bool found = false;
    int rank = 0;
    i64 bytes = 0;
    while (api_.probe(kWatch, tag, &found, &rank, &bytes) == 0 && found) {
      std::string data(static_cast<usize>(bytes), 0);
      Pending pending = 0;
      if (api_.receive(kWatch, data.data(), bytes, rank, tag, &pending) != 0) return;
      bool done = false;  // it has arrived: this ends at once
      while (api_.test(pending, &done) == 0 && !done) {
      }
      if (tag == kAsk) {
        post(rank, kAnswer, std::to_string(operations_.load()));
      } else if (tag == kAnswer) {
        peers_[static_cast<usize>(rank)] = {0, std::strtoull(data.c_str(), nullptr, 10)};
      } else {
        failure_.set(fail(ErrorKind::DeviceLost, "{}", data));
      }
    }
  }
}

void Link::watch() {
  std::unique_lock stop(stop_mutex_);
  while (!stops_) {
    stop_changed_.wait_for(stop, kWatchEach);
    std::lock_guard lock(api_mutex_);
    answer_all();
  }
}

void Link::leave() {
  bool all_there = job_.size == 1;
  if (job_.size > 1 && !failure_.is_set()) {
    std::vector<int> ranks(static_cast<usize>(job_.size));
    std::iota(ranks.begin(), ranks.end(), 0);
    const Start start = [](const MpiApi& api, Pending* made) { return api.barrier(kWatch, made); };
    all_there = run(start, "leaving", ranks).has_value();
  }
  if (watcher_.joinable()) {
    {
      std::lock_guard lock(stop_mutex_);
      stops_ = true;
    }
    stop_changed_.notify_all();
    watcher_.join();
  }
  std::lock_guard lock(api_mutex_);
  // Without the others it would wait for them.
  if (all_there) api_.end();
}

}  // namespace doorbell::mpi
