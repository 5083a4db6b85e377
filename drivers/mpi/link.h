// Link: this process's way to the others: starts operations of MPI and waits for them, at most so
// long. While it waits it asks the others how far they are, so that the error names who is missing;
// a thread of each process answers. Once something went wrong nothing works any more, and the
// others are told.
//
// Thread safety: run() by one thread at a time; all others from any.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/os/clock.h"
#include "base/os/library.h"
#include "base/util/first_error.h"
#include "drivers/mpi/module/mpi_api.h"

namespace doorbell::mpi {

struct LinkOptions {
  std::vector<std::string> modules;  // files to try, in order
  u64 timeout_ns = 0;                // of one operation
};

class Link {
 public:
  // Joins the other processes. Never freed: MPI starts once.
  static Result<Link*> open(const LinkOptions& options, os::Clock& clock);

  const Job& job() const { return job_; }
  const std::string& name() const { return name_; }
  Result<void> check() const { return failure_.check(); }
  // Those of the group must ask for it at once.
  Result<Group> group(const std::vector<int>& ranks);

  // Starts an operation and waits for it. `what` and `ranks`, who takes part, are for messages.
  using Start = std::function<int(const MpiApi&, Pending*)>;
  Result<void> run(const Start& start, const std::string& what, const std::vector<int>& ranks);
  // A blocking call of MPI, without a deadline: to measure beside. Nobody is answered meanwhile.
  Result<void> plain(Plain what, const void* from, void* to, i64 bytes);
  // Waits for all processes, then leaves MPI. What fails is not reported: the process ends.
  void leave();

 private:
  // What is known of another process while one waits for it.
  struct Peer {
    u32 unanswered = 0;  // questions since it answered last
    u64 operations = 0;  // that it had started then
  };
  struct Outgoing {
    Pending pending;
    std::unique_ptr<std::string> data;
  };
  enum Tag : int { kAsk = 1, kAnswer = 2, kGivesUp = 3 };

  Link(const MpiApi& api, std::string name, u64 timeout_ns, os::Clock& clock)
      : api_(api), name_(std::move(name)), timeout_ns_(timeout_ns), clock_(clock) {}

  Result<bool> is_done(Pending pending, const std::string& what);
  Result<void> wait(Pending pending, const std::string& what, const std::vector<int>& ranks);
  Error error_of(int code, const std::string& what) const;
  Error missing(const std::string& what, const std::vector<int>& ranks);
  void fail_all(const Error& error);
  void ask(const std::vector<int>& ranks, bool is_first);
  void post(int rank, Tag tag, std::string data);
  void answer_all();
  void hear(u64 now);
  void watch();

  const MpiApi& api_;
  const std::string name_;
  const u64 timeout_ns_;
  os::Clock& clock_;
  Job job_;
  std::mutex api_mutex_;  // guards all calls of MPI, and what follows
  std::vector<Outgoing> outgoing_;
  std::vector<Peer> peers_;  // by rank
  std::vector<std::pair<std::vector<int>, Group>> groups_;
  std::atomic<u64> operations_{0};  // started
  FirstError failure_;

  std::mutex stop_mutex_;
  std::condition_variable stop_changed_;
  bool stops_ = false;
  std::thread watcher_;
};

}  // namespace doorbell::mpi
