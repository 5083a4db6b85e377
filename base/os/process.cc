// Spawns, feeds and reads a process without deadlock: all three pipes are served by one poll loop.
#include "base/os/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "base/util/check.h"
#include "base/util/try.h"

extern char** environ;

namespace doorbell::os {
namespace {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }
  void close() {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }
  int number() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

struct Pipe {
  Descriptor read_end, write_end;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe(ends) != 0) return fail_errno(errno, "make a pipe");
  for (int end : ends) fcntl(end, F_SETFD, FD_CLOEXEC);
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

// Frees posix_spawn's lists on every path out.
struct SpawnActions {
  SpawnActions() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnActions() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

Result<pid_t> spawn(std::span<const std::string> command, const SpawnActions& list) {
  std::vector<char*> arguments;
  for (const std::string& argument : command)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  pid_t process;
  int why = posix_spawnp(&process, arguments[0], &list.actions, &list.attributes, arguments.data(),
                         environ);
  if (why != 0) return fail_errno(why, "run {}", command[0]);
  return process;
}

// Writes what fits; closes the pipe when all is written or the reader has closed its end.
void feed(Descriptor& to, std::string_view& input) {
  ssize_t put = input.empty() ? 0 : ::write(to.number(), input.data(), input.size());
  if (put > 0) input.remove_prefix(static_cast<usize>(put));
  bool again = put < 0 && (errno == EINTR || errno == EAGAIN);
  if (input.empty() || (put < 0 && !again)) to.close();
}

void drain(Descriptor& from, std::string& into) {
  std::array<char, 16384> buffer;
  ssize_t got = ::read(from.number(), buffer.data(), buffer.size());
  if (got > 0)
    into.append(buffer.data(), static_cast<usize>(got));
  else if (got == 0 || errno != EINTR)
    from.close();
}

// A program that stops reading early must not kill this process with SIGPIPE: blocks the signal in
// this thread and consumes one that arrived.
class HoldPipeSignal {
 public:
  HoldPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~HoldPipeSignal() {
    sigset_t pending;
    sigpending(&pending);
    int taken;
    if (!was_pending_ && sigismember(&pending, SIGPIPE) == 1) sigwait(&pipe_, &taken);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t pipe_, before_;
  bool was_pending_;
};

// The terminal sends SIGINT and SIGQUIT to every process of its group; only the child handles them.
class IgnoreInterrupts {
 public:
  IgnoreInterrupts() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGQUIT);
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGINT, &ignore, &interrupt_);
    sigaction(SIGQUIT, &ignore, &quit_);
  }
  ~IgnoreInterrupts() {
    sigaction(SIGINT, &interrupt_, nullptr);
    sigaction(SIGQUIT, &quit_, nullptr);
  }
  const sigset_t& signals() const { return signals_; }

 private:
  sigset_t signals_;
  struct sigaction interrupt_ = {}, quit_ = {};
};

// The exit status, or 128 + the signal's number.
Result<int> wait_for(pid_t process, const std::string& name) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0)
    if (errno != EINTR) return fail_errno(errno, "wait for {}", name);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

Result<ProcessOutput> run_process(std::span<const std::string> command, std::string_view input) {
  CHECK(!command.empty(), "no program named");
  TRY(Pipe in, make_pipe());
  TRY(Pipe out, make_pipe());
  TRY(Pipe error, make_pipe());
  fcntl(in.write_end.number(), F_SETFL, O_NONBLOCK);
  SpawnActions list;
  posix_spawn_file_actions_adddup2(&list.actions, in.read_end.number(), 0);
  posix_spawn_file_actions_adddup2(&list.actions, out.write_end.number(), 1);
  posix_spawn_file_actions_adddup2(&list.actions, error.write_end.number(), 2);
  TRY(pid_t process, spawn(command, list));
  in.read_end.close();
  out.write_end.close();
  error.write_end.close();

  HoldPipeSignal hold;
  ProcessOutput output;
  if (input.empty()) in.write_end.close();
  while (out.read_end.number() >= 0 || error.read_end.number() >= 0 || in.write_end.number() >= 0) {
    std::array<pollfd, 3> waiting{{{in.write_end.number(), POLLOUT, 0},
                                   {out.read_end.number(), POLLIN, 0},
                                   {error.read_end.number(), POLLIN, 0}}};
    if (::poll(waiting.data(), waiting.size(), -1) < 0) continue;  // interrupted
    if (waiting[0].revents) feed(in.write_end, input);
    if (waiting[1].revents) drain(out.read_end, output.out);
    if (waiting[2].revents) drain(error.read_end, output.error_out);
  }

  TRY(output.exit_status, wait_for(process, command[0]));
  return output;
}

Result<int> run_attached(std::span<const std::string> command) {
  CHECK(!command.empty(), "no program named");
  const IgnoreInterrupts ignore;
  SpawnActions list;
  posix_spawnattr_setsigdefault(&list.attributes, &ignore.signals());
  posix_spawnattr_setflags(&list.attributes, POSIX_SPAWN_SETSIGDEF);
  TRY(pid_t process, spawn(command, list));
  return wait_for(process, command[0]);
}

Result<LineProcess> LineProcess::start(std::span<const std::string> command) {
  CHECK(!command.empty(), "no program named");
  TRY(Pipe in, make_pipe());
  TRY(Pipe out, make_pipe());
  SpawnActions list;
  posix_spawn_file_actions_adddup2(&list.actions, in.read_end.number(), 0);
  posix_spawn_file_actions_adddup2(&list.actions, out.write_end.number(), 1);
  LineProcess made;
  TRY(made.process_, spawn(command, list));
  made.to_ = in.write_end.release(), made.from_ = out.read_end.release();
  made.name_ = command[0];
  return made;
}

LineProcess& LineProcess::operator=(LineProcess&& other) noexcept {
  std::swap(process_, other.process_), std::swap(to_, other.to_), std::swap(from_, other.from_);
  name_.swap(other.name_), read_.swap(other.read_);
  return *this;
}

LineProcess::~LineProcess() {
  if (process_ < 0) return;
  ::close(to_), ::close(from_);
  (void)wait_for(process_, name_);
}

Result<std::string> LineProcess::ask(std::string_view line) {
  const HoldPipeSignal hold;
  const std::string all = std::string(line) + '\n';
  for (std::string_view left = all; !left.empty();) {
    const ssize_t put = ::write(to_, left.data(), left.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return fail_errno(errno, "write to {}", name_);
    left.remove_prefix(static_cast<usize>(put));
  }
  usize end;
  while ((end = read_.find('\n')) == std::string::npos) {
    std::array<char, 4096> buffer;
    const ssize_t got = ::read(from_, buffer.data(), buffer.size());
    if (got > 0)
      read_.append(buffer.data(), static_cast<usize>(got));
    else if (got == 0 || errno != EINTR)
      return fail(ErrorKind::Os, "{} ended without an answer to \"{}\"", name_, line);
  }
  std::string answer = read_.substr(0, end);
  read_.erase(0, end + 1);
  return answer;
}

}  // namespace doorbell::os
