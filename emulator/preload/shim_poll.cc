// Functions that wait for descriptors. The kernel module forgets an event when it reports it, to
// whichever of them: nv.c nvidia_poll(). A file of events is a socket here (nodes.h), whose event
// ends when the emulator hears that it was reported.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "emulator/preload/shim.h"

namespace doorbell::preload {
namespace {

std::atomic<bool> has_event_files{false};

// Null where no descriptor can have an event.
const DoorbellEmulatorDoor* door_of_events() {
  return has_event_files.load(std::memory_order_acquire) ? opened_emulator() : nullptr;
}

int end_of_poll(const pollfd* files, nfds_t count, int ready) {
  const DoorbellEmulatorDoor* door = ready > 0 ? door_of_events() : nullptr;
  for (nfds_t i = 0; door && i < count; ++i)
    if (files[i].revents != 0) door->polled(files[i].fd);
  return ready;
}

int end_of_select(int count, const fd_set* readable, int ready) {
  const DoorbellEmulatorDoor* door = ready > 0 && readable ? door_of_events() : nullptr;
  for (int i = 0; door && i < count; ++i)
    if (FD_ISSET(i, readable)) door->polled(i);
  return ready;
}

// The lines of a file of /proc, without allocating.
class Lines {
 public:
  explicit Lines(const char* path)
      : file_(real<int(const char*, int)>("open")(path, O_RDONLY | O_CLOEXEC)) {}
  ~Lines() {
    if (file_ >= 0) close(file_);
  }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  // Without its newline; null behind the last one.
  const char* next_line() {
    while (file_ >= 0) {
      buffer_[end_] = 0;
      if (char* newline = strchr(buffer_ + start_, '\n')) {
        *newline = 0;
        const char* line = buffer_ + start_;
        start_ = static_cast<size_t>(newline + 1 - buffer_);
        return line;
      }
      memmove(buffer_, buffer_ + start_, end_ - start_);
      end_ -= start_, start_ = 0;
      const ssize_t got = read(file_, buffer_ + end_, kBytes - end_);
      if (got <= 0) break;
      end_ += static_cast<size_t>(got);
    }
    return nullptr;
  }

 private:
  static constexpr size_t kBytes = 4096;
  const int file_;
  char buffer_[kBytes + 1];
  size_t start_ = 0, end_ = 0;
};

// Events name no descriptors, but the kernel lists them with the data of each. Descriptors with the
// same data count as reported together. [Linux fs/eventpoll.c ep_show_fdinfo()]
int end_of_epoll(int epoll, const epoll_event* events, int ready) {
  const DoorbellEmulatorDoor* door = ready > 0 ? door_of_events() : nullptr;
  if (!door) return ready;
  const int saved = errno;
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fdinfo/%d", epoll);
  Lines lines(path);
  while (const char* line = lines.next_line()) {
    int descriptor = -1;
    unsigned wanted = 0;
    unsigned long long data = 0;
    if (sscanf(line, "tfd: %d events: %x data: %llx", &descriptor, &wanted, &data) != 3) continue;
    for (int i = 0; i < ready; ++i)
      if (events[i].data.u64 == data) {
        door->polled(descriptor);
        break;
      }
  }
  errno = saved;
  return ready;
}

}  // namespace

void note_event_file() { has_event_files.store(true, std::memory_order_release); }

extern "C" {

int shim_poll(pollfd* files, nfds_t count, int timeout_ms) DOORBELL_STANDS_FOR(poll);
int shim_poll_checked(pollfd* files, nfds_t count, int timeout_ms, size_t bytes)
    DOORBELL_STANDS_FOR(__poll_chk);
int shim_ppoll(pollfd* files, nfds_t count, const timespec* timeout, const sigset_t* signals)
    DOORBELL_STANDS_FOR(ppoll);
int shim_ppoll_checked(pollfd* files, nfds_t count, const timespec* timeout,
                       const sigset_t* signals, size_t bytes) DOORBELL_STANDS_FOR(__ppoll_chk);
int shim_select(int count, fd_set* readable, fd_set* writable, fd_set* excepted, timeval* timeout)
    DOORBELL_STANDS_FOR(select);
int shim_pselect(int count, fd_set* readable, fd_set* writable, fd_set* excepted,
                 const timespec* timeout, const sigset_t* signals) DOORBELL_STANDS_FOR(pselect);
int shim_epoll_ctl(int epoll, int operation, int descriptor, epoll_event* event)
    DOORBELL_STANDS_FOR(epoll_ctl);
int shim_epoll_wait(int epoll, epoll_event* events, int most, int timeout_ms)
    DOORBELL_STANDS_FOR(epoll_wait);
int shim_epoll_pwait(int epoll, epoll_event* events, int most, int timeout_ms,
                     const sigset_t* signals) DOORBELL_STANDS_FOR(epoll_pwait);
int shim_epoll_pwait2(int epoll, epoll_event* events, int most, const timespec* timeout,
                      const sigset_t* signals) DOORBELL_STANDS_FOR(epoll_pwait2);

int shim_poll(pollfd* files, nfds_t count, int timeout_ms) {
  const auto wait = real<int(pollfd*, nfds_t, int)>("poll");
  return end_of_poll(files, count, wait(files, count, timeout_ms));
}
// Of programs that are compiled with _FORTIFY_SOURCE.
int shim_poll_checked(pollfd* files, nfds_t count, int timeout_ms, size_t) {
  return shim_poll(files, count, timeout_ms);
}

int shim_ppoll(pollfd* files, nfds_t count, const timespec* timeout, const sigset_t* signals) {
  const auto wait = real<int(pollfd*, nfds_t, const timespec*, const sigset_t*)>("ppoll");
  return end_of_poll(files, count, wait(files, count, timeout, signals));
}
int shim_ppoll_checked(pollfd* files, nfds_t count, const timespec* timeout,
                       const sigset_t* signals, size_t) {
  return shim_ppoll(files, count, timeout, signals);
}

int shim_select(int count, fd_set* readable, fd_set* writable, fd_set* excepted, timeval* timeout) {
  const auto wait = real<int(int, fd_set*, fd_set*, fd_set*, timeval*)>("select");
  return end_of_select(count, readable, wait(count, readable, writable, excepted, timeout));
}
int shim_pselect(int count, fd_set* readable, fd_set* writable, fd_set* excepted,
                 const timespec* timeout, const sigset_t* signals) {
  const auto wait =
      real<int(int, fd_set*, fd_set*, fd_set*, const timespec*, const sigset_t*)>("pselect");
  return end_of_select(count, readable,
                       wait(count, readable, writable, excepted, timeout, signals));
}

// The kernel polls a file when it is added or changed, so that an event of before is not reported
// any more. [Linux fs/eventpoll.c ep_insert(), ep_modify(), ep_send_events()]
int shim_epoll_ctl(int epoll, int operation, int descriptor, epoll_event* event) {
  const int done =
      real<int(int, int, int, epoll_event*)>("epoll_ctl")(epoll, operation, descriptor, event);
  const DoorbellEmulatorDoor* door = done == 0 ? door_of_events() : nullptr;
  if (door && operation != EPOLL_CTL_DEL) door->polled(descriptor);
  return done;
}
int shim_epoll_wait(int epoll, epoll_event* events, int most, int timeout_ms) {
  const auto wait = real<int(int, epoll_event*, int, int)>("epoll_wait");
  return end_of_epoll(epoll, events, wait(epoll, events, most, timeout_ms));
}
int shim_epoll_pwait(int epoll, epoll_event* events, int most, int timeout_ms,
                     const sigset_t* signals) {
  const auto wait = real<int(int, epoll_event*, int, int, const sigset_t*)>("epoll_pwait");
  return end_of_epoll(epoll, events, wait(epoll, events, most, timeout_ms, signals));
}
// Of the C library 2.35 and later: programs that call it have that one.
int shim_epoll_pwait2(int epoll, epoll_event* events, int most, const timespec* timeout,
                      const sigset_t* signals) {
  const auto wait =
      real<int(int, epoll_event*, int, const timespec*, const sigset_t*)>("epoll_pwait2");
  if (!wait) {
    errno = ENOSYS;
    return -1;
  }
  return end_of_epoll(epoll, events, wait(epoll, events, most, timeout, signals));
}

}  // extern "C"

}  // namespace doorbell::preload
