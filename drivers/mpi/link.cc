// Operations, waiting, and the thread that answers.
#include "drivers/mpi/link.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "base/util/try.h"

namespace doorbell::mpi {
namespace {

// A process that is asked answers within this, unless it is stopped or dead.
constexpr u64 kWatchEach_ns = 20'000'000;
constexpr std::chrono::nanoseconds kWatchEach(kWatchEach_ns);
// Whoever waits longer asks, again each time that this has passed.
constexpr u64 kAskEach_ns = 500'000'000;
constexpr u64 kMaxAwake_ns = 1'000'000'000;

// How long one has waited. While this process was itself stopped, it did not wait for others.
class Patience {
 public:
  explicit Patience(os::Clock& clock) : clock_(clock), last_(clock.now_ns()) {}

  u64 waited_ns() {
    constexpr u64 kMaxTurn_ns = 100'000'000;
    const u64 now = clock_.now_ns();
    waited_ += std::min(now - last_, kMaxTurn_ns);
    last_ = now;
    return waited_;
  }

 private:
  os::Clock& clock_;
  u64 last_, waited_ = 0;
};

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
  link->thread_ = std::thread([link] { link->serve(); });
  const auto ends = [](void* context) { static_cast<Link*>(context)->is_ended(); };
  const Call start = [link, ends](const MpiApi& mpi) {
    if (const int code = mpi.start(&link->job_, ends, link)) return code;
    link->peers_ = Peers(link->job_.rank, link->job_.size);
    return 0;
  };
  TRY(link->block(start, "starting MPI",
                  "the other processes, of which one is dead, stopped, or has not come"));
  {
    std::lock_guard lock(link->thread_mutex_);
    link->answers_ = link->job_.size > 1;
  }
  link->thread_changed_.notify_all();
  return link;
}

std::vector<int> Link::everyone() const {
  std::vector<int> ranks(static_cast<usize>(job_.size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

Error Link::error_of(int code, const std::string& what, const std::vector<int>& ranks) const {
  char text[256];
  api_.message(code, text, sizeof text);
  const std::string whom = ranks.empty() ? "" : " with " + list_ranks(ranks);
  return fail(ErrorKind::DeviceLost, "{}{} ({}) on rank {}: {}", what, whom, name_, job_.rank,
              text);
}

Result<Group> Link::group(const std::vector<int>& ranks) {
  if (ranks == everyone()) return kWorld;
  for (const auto& [known, group] : groups_)
    if (known == ranks) return group;
  const std::string what = "making a group of " + list_ranks(ranks);
  TRY(gather_here(ranks, what));
  const auto made = std::make_shared<Group>(0);
  const Call make = [ranks, made](const MpiApi& api) {
    return api.group(ranks.data(), static_cast<int>(ranks.size()), made.get());
  };
  TRY(block(make, what, list_ranks(ranks)));
  groups_.emplace_back(ranks, *made);
  return *made;
}

// Nobody begins what blocks before all are there to do it.
Result<void> Link::gather_here(const std::vector<int>& ranks, const std::string& what) {
  static constinit char byte = 0;  // outlives what is not awaited to the end
  const auto send = [&](int rank) {
    return run([rank](const MpiApi& api,
                      Pending* made) { return api.send(kWatch, &byte, 1, rank, kHere, made); },
               what, ranks);
  };
  const auto receive = [&](int rank) {
    return run([rank](const MpiApi& api,
                      Pending* made) { return api.receive(kWatch, &byte, 1, rank, kHere, made); },
               what, ranks, Kind::Receive);
  };
  if (job_.rank != ranks[0]) {
    TRY(send(ranks[0]));
    return receive(ranks[0]);
  }
  for (usize i = 1; i < ranks.size(); ++i) TRY(receive(ranks[i]));
  for (usize i = 1; i < ranks.size(); ++i) TRY(send(ranks[i]));
  return {};
}

Result<void> Link::run(const Start& start, const std::string& what, const std::vector<int>& ranks,
                       Kind kind, i64 bytes) {
  TRY(failure_.check());
  Pending pending = 0;
  {
    std::lock_guard lock(api_mutex_);
    peers_.begin(ranks);
    if (const int code = start(api_, &pending)) {
      peers_.end();
      return fail_all(error_of(code, what, ranks));
    }
  }
  const u64 moving_ns = static_cast<u64>(bytes);  // at a gigabyte a second
  Result<void> done = wait_until([&] { return is_done(pending, what, ranks); }, what, moving_ns);
  std::lock_guard lock(api_mutex_);
  peers_.end();
  if (!done && kind == Kind::Receive) api_.cancel(pending);
  return done;
}

Result<void> Link::wait(const IsDone& is_done, const std::string& what,
                        const std::vector<int>& ranks) {
  TRY(failure_.check());
  {
    std::lock_guard lock(api_mutex_);
    peers_.begin(ranks);
  }
  Result<void> done = wait_until(is_done, what, 0);
  std::lock_guard lock(api_mutex_);
  peers_.end();
  return done;
}

// Asks as often as must be unanswered, unless another process tells why it gave up.
Error Link::give_up(const Error& why, const std::vector<int>& ranks) {
  {
    std::lock_guard lock(api_mutex_);
    peers_.begin(ranks);
  }
  for (u32 i = 0; i < Peers::kUnanswered && !ranks.empty() && !failure_.is_set(); ++i) {
    ask();  // the thread hears the answers
    clock_.sleep_until(clock_.now_ns() + std::min(kAskEach_ns, timeout_ns_ / 8));
  }
  std::lock_guard lock(api_mutex_);
  const std::vector<int> silent = peers_.silent();
  peers_.end();
  Error error = why;
  if (!silent.empty())
    error.message += fmt::format("; {} {} not answer: dead or stopped", list_ranks(silent),
                                 silent.size() == 1 ? "does" : "do");
  return fail_all(error);
}

Result<void> Link::plain(Plain what, const void* from, void* to, i64 bytes) {
  std::lock_guard lock(api_mutex_);
  if (const int code = api_.plain(what, from, to, bytes)) return error_of(code, "a plain call", {});
  return {};
}

Result<bool> Link::is_done(Pending pending, const std::string& what,
                           const std::vector<int>& ranks) {
  std::lock_guard lock(api_mutex_);
  bool done = false;
  if (const int code = api_.test(pending, &done)) return fail_all(error_of(code, what, ranks));
  return done;
}

template <class Done>
Result<void> Link::wait_until(const Done& is_done, const std::string& what, u64 moving_ns) {
  constexpr u32 kLookEach = 16, kSpins = 2000;  // turns
  const u64 ask_each = std::min(kAskEach_ns, timeout_ns_ / 8);
  Patience patience(clock_);
  u64 asked = 0, heard = 0;
  for (u32 turn = 0;; ++turn) {
    TRY(const bool done, is_done());
    if (done) [[likely]]
      return {};
    // Messages move only while someone looks, so this stays awake, as MPI's blocking calls do. It
    // offers its processor to kernels only when the bytes should have moved: the next look may then
    // come late.
    const bool rests = turn % kLookEach == kLookEach - 1;
    if (!rests && turn <= kSpins) continue;
    const u64 waited = patience.waited_ns();
    if (rests && waited > kMaxAwake_ns)
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    else if (rests && turn > kSpins && waited > moving_ns)
      std::this_thread::yield();
    // Not left to the thread, which hardly gets the lock while this looks again and again.
    if (waited - heard > kWatchEach_ns) {
      std::lock_guard lock(api_mutex_);
      answer_all();
      heard = waited;
    }
    TRY(failure_.check());
    if (waited - asked > ask_each) {
      ask();
      asked = waited;
    }
    if (waited <= timeout_ns_) continue;
    std::lock_guard lock(api_mutex_);
    return fail_all(peers_.missing(what, static_cast<f64>(timeout_ns_) / 1e9));
  }
}

Result<void> Link::block(Call call, const std::string& what, const std::string& whom) {
  Patience patience(clock_);
  std::unique_lock lock(thread_mutex_);
  call_ = std::move(call);
  thread_changed_.notify_all();
  while (call_) {
    call_ended_.wait_for(lock, kWatchEach);
    if (!call_ || patience.waited_ns() <= timeout_ns_) continue;
    // The thread has MPI for good, so the others are not told: it does not answer them either.
    const Error error = fail(ErrorKind::Timeout, "{} waited {:g} s for {}", what,
                             static_cast<f64>(timeout_ns_) / 1e9, whom);
    failure_.set(error);
    is_stuck_ = true;
    return error;
  }
  if (call_code_ == 0) return {};
  const Error error = error_of(call_code_, what, {});
  failure_.set(error);
  return error;
}

void Link::ask() {
  std::lock_guard lock(api_mutex_);
  for (const int rank : peers_.to_ask()) post(rank, kAsk, "?");
}

// The lock of MPI is held by the caller of those that follow, up to serve().
void Link::post(int rank, Tag tag, std::string data) {
  auto kept = std::make_unique<std::string>(std::move(data));
  Pending pending = 0;
  const i64 bytes = static_cast<i64>(kept->size());
  if (api_.send(kWatch, kept->data(), bytes, rank, tag, &pending) == 0)
    outgoing_.push_back({pending, std::move(kept)});
}

// Returns what the others are told: the error that came first.
Error Link::fail_all(Error error) {
  if (!failure_.set(error)) return failure_.check().error();
  const std::string text = fmt::format("rank {} gave up: {}", job_.rank, error.message);
  for (const int rank : everyone())
    if (rank != job_.rank) post(rank, kGivesUp, text);
  return error;
}

void Link::receive_all(Tag tag) {
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
    if (tag == kAsk)
      post(rank, kAnswer, peers_.answer());
    else if (tag == kAnswer)
      peers_.answered(rank, data);
    else
      failure_.set(fail(ErrorKind::DeviceLost, "{}", data));
  }
}

// Answers what others ask, and learns that one gave up.
void Link::answer_all() {
  std::erase_if(outgoing_, [&](const Outgoing& message) {
    bool done = false;
    return api_.test(message.pending, &done) != 0 || done;
  });
  for (const Tag tag : {kAsk, kAnswer, kGivesUp}) receive_all(tag);
}

void Link::serve() {
  std::unique_lock lock(thread_mutex_);
  while (!stops_) {
    if (call_) {
      const Call call = call_;
      lock.unlock();
      int code = 0;
      {
        std::lock_guard mpi(api_mutex_);
        code = call(api_);
      }
      lock.lock();
      call_code_ = code;
      call_ = {};
      call_ended_.notify_all();
    } else if (answers_) {
      thread_changed_.wait_for(lock, kWatchEach);
      std::lock_guard mpi(api_mutex_);
      answer_all();
      // Whatever still comes would go to memory that is used otherwise by now.
      if (failure_.is_set() && outgoing_.empty()) answers_ = false;
    } else {
      thread_changed_.wait(lock);
    }
  }
}

// The thread uses MPI no more afterwards, unless it is in a call that does not end.
void Link::stop_thread() {
  {
    std::lock_guard lock(thread_mutex_);
    stops_ = true;
    if (is_stuck_) return thread_.detach();
  }
  thread_changed_.notify_all();
  thread_.join();
}

Result<void> Link::meet_to_leave() {
  if (job_.size == 1) return {};
  const std::vector<int> all = everyone();
  const Start start = [](const MpiApi& api, Pending* made) { return api.barrier(kWatch, made); };
  return run(start, "leaving", all);
}

Result<void> Link::leave() {
  if (has_left_.exchange(true)) return {};
  const bool has_failed = failure_.is_set();
  Result<void> left = has_failed ? Result<void>() : meet_to_leave();
  {
    std::lock_guard lock(thread_mutex_);
    answers_ = false;  // nobody asks any more
  }
  // Without the others it would wait for them.
  if (!has_failed && left)
    left = block([](const MpiApi& api) { return api.end(); }, "leaving MPI", "the other processes");
  failure_.set(fail(ErrorKind::Unsupported, "this process has left the others"));
  stop_thread();
  return left;
}

// By whoever ends MPI, while it works.
void Link::is_ended() {
  if (has_left_.exchange(true)) return;
  if (!failure_.is_set()) (void)meet_to_leave();  // whoever ends MPI cannot be told
  failure_.set(fail(ErrorKind::Unsupported, "MPI was ended by another part of this program"));
  stop_thread();
}

}  // namespace doorbell::mpi
