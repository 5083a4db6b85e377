// Link: this process's way to the others: starts operations of MPI and waits for them, at most so
// long. While it waits it asks the others how far they are (peers.h), so that the error names who
// is missing; a thread of each process answers. Once something went wrong nothing works any more,
// and the others are told. What MPI can only do by a call that blocks, that thread does: starting,
// ending and making groups. Nothing ends such a call, but whoever waits for it stops waiting.
//
// Thread safety: run() and group() by one thread at a time; all others from any.
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
#include "drivers/mpi/peers.h"

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

  // Starts an operation and waits for it. `what` and `ranks`, who takes part, are for messages. It
  // keeps its processor for as long as `bytes` take to move.
  using Start = std::function<int(const MpiApi&, Pending*)>;
  // When it fails, memory of a Receive may be used otherwise; what another operation began may
  // still read and write its own.
  enum class Kind : u8 { Receive, Other };
  Result<void> run(const Start& start, const std::string& what, const std::vector<int>& ranks,
                   Kind kind = Kind::Other, i64 bytes = 0);
  // Waits for work of another kind, with the same deadline.
  using IsDone = std::function<Result<bool>()>;
  Result<void> wait(const IsDone& is_done, const std::string& what, const std::vector<int>& ranks);
  // Such work failed: tells the others, and returns the error, with the names of those that are
  // silent.
  Error give_up(const Error& why, const std::vector<int>& ranks);
  // A blocking call of MPI, without a deadline: to measure beside. Nobody is answered meanwhile.
  Result<void> plain(Plain what, const void* from, void* to, i64 bytes);
  // Waits for all processes, then leaves MPI; again does nothing. Not the error that others of this
  // link have told already.
  Result<void> leave();

 private:
  // A call that blocks, for the thread. It may outlive the one who asked for it.
  using Call = std::function<int(const MpiApi&)>;
  struct Outgoing {
    Pending pending;
    std::unique_ptr<std::string> data;
  };
  enum Tag : int { kAsk = 1, kAnswer = 2, kGivesUp = 3, kHere = 4 };

  Link(const MpiApi& api, std::string name, u64 timeout_ns, os::Clock& clock)
      : api_(api), name_(std::move(name)), timeout_ns_(timeout_ns), clock_(clock) {}

  Result<bool> is_done(Pending pending, const std::string& what, const std::vector<int>& ranks);
  template <class Done>
  Result<void> wait_until(const Done& is_done, const std::string& what, u64 moving_ns);
  Error error_of(int code, const std::string& what, const std::vector<int>& ranks) const;
  Error fail_all(Error error);
  void ask();
  void post(int rank, Tag tag, std::string data);
  void receive_all(Tag tag);
  void answer_all();
  // Has the thread make a call that waits for `whom`.
  Result<void> block(Call call, const std::string& what, const std::string& whom);
  Result<void> gather_here(const std::vector<int>& ranks, const std::string& what);
  Result<void> meet_to_leave();
  void is_ended();
  void serve();
  void stop_thread();
  std::vector<int> everyone() const;

  const MpiApi& api_;
  const std::string name_;
  const u64 timeout_ns_;
  os::Clock& clock_;
  Job job_;
  std::mutex api_mutex_;  // guards all calls of MPI, and what follows
  std::vector<Outgoing> outgoing_;
  Peers peers_{0, 1};
  std::vector<std::pair<std::vector<int>, Group>> groups_;  // of the caller of group()
  FirstError failure_;
  std::atomic<bool> has_left_{false};

  std::mutex thread_mutex_;  // guards what follows
  std::condition_variable thread_changed_, call_ended_;
  bool answers_ = false, stops_ = false;
  bool is_stuck_ = false;  // in a call that does not end
  Call call_;              // under way, or to begin
  int call_code_ = 0;
  std::thread thread_;
};

}  // namespace doorbell::mpi
