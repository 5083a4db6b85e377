// libdoorbell_trace.so: intercepts a client's ioctl, mmap and munmap (LD_PRELOAD), passes each call
// on, and informs the recorders, AMD's and NVIDIA's. It reads variables that `doorbell trace` sets:
//   DOORBELL_TRACE_FILE   where lines are added; standard error when not set
//   DOORBELL_TRACE_JSON   1: lines are JSON objects, whatever the file is called
//   DOORBELL_TRACE_ONLY   which lines: see emulator/core/trace_filter.h
//   DOORBELL_TRACE_LIMIT  the file's largest size in bytes
//   DOORBELL_TRACE_CAPTURE  a folder for what is submitted to NVIDIA's GPUs
// Thread safety: that of the intercepted functions. A forked child is not recorded, because it
// lacks the thread that polls the queues.

// Defines both mmap and mmap64, so the headers must not map one name to the other.
#undef _FILE_OFFSET_BITS
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdarg>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "drivers/amd/hw/ioctl_text.h"
#include "emulator/core/trace_file.h"
#include "tools/trace/nv_recorder.h"
#include "tools/trace/recorder.h"

namespace {

using doorbell::emu::Trace;
using doorbell::emu::TraceFile;
using doorbell::emu::TraceFilter;
using doorbell::tools::NvRecorder;
using doorbell::tools::Recorder;

// The interval at which the queues are polled.
constexpr auto kBetweenLooks = std::chrono::microseconds(50);

// Null: standard error. `doorbell trace` has checked the variables.
std::unique_ptr<TraceFile> open_output() {
  const char* const path = std::getenv("DOORBELL_TRACE_FILE");
  const char* const limit = std::getenv("DOORBELL_TRACE_LIMIT");
  if (!path) return nullptr;
  auto file = TraceFile::open(path, limit ? std::strtoull(limit, nullptr, 10) : 0);
  return file ? std::move(*file) : nullptr;
}

std::string capture_folder() {
  const char* const folder = std::getenv("DOORBELL_TRACE_CAPTURE");
  return folder ? folder : "";
}

TraceFilter filter() {
  const char* const only = std::getenv("DOORBELL_TRACE_ONLY");
  return TraceFilter::parse(only ? only : "").value_or(TraceFilter());
}

struct Session {
  const std::unique_ptr<TraceFile> output = open_output();
  const pid_t process = getpid();
  Trace trace{[this](std::string_view line) {
                // A line that cannot be written is dropped; the client must not fail.
                if (output)
                  output->write(line);
                else if (write(STDERR_FILENO, line.data(), line.size()) < 0)
                  errno = 0;
              },
              std::getenv("DOORBELL_TRACE_JSON") ? Trace::Format::Json
              : output                           ? output->format()
                                                 : Trace::Format::Text,
              filter()};
  Recorder recorder{&trace, doorbell::tools::generation_of_gpu};
  NvRecorder nv_recorder{&trace, capture_folder()};

  bool poll() {
    const bool amd = recorder.poll(), nvidia = nv_recorder.poll();
    return amd || nvidia;
  }
  std::atomic<bool> watching{false};
};

// Made by the first call that is recorded, never destroyed: clients use GPUs until they exit.
std::atomic<Session*> g_session{nullptr};

Session& session() {
  static Session* const made = new Session;
  g_session.store(made, std::memory_order_release);
  return *made;
}

void watch() {
  while (session().poll()) std::this_thread::sleep_for(kBetweenLooks);
  session().watching.store(false);
}

void start_watching(Session& one) {
  if (one.poll() && !one.watching.exchange(true)) std::thread(watch).detach();
}

void record_ioctl(int descriptor, unsigned long request, const void* argument, int error) {
  Session& one = session();
  if (one.process != getpid()) return;
  one.recorder.ioctl(descriptor, static_cast<doorbell::u32>(request), argument, error);
  start_watching(one);
}

void record_nv_ioctl(int descriptor, unsigned long request, const void* argument, int error) {
  Session& one = session();
  if (one.process == getpid() && one.nv_recorder.ioctl(descriptor, request, argument, error))
    start_watching(one);
}

// Records the last packets even if the client exits without destroying its queues.
[[gnu::destructor]] void record_end() {
  Session* const one = g_session.load(std::memory_order_acquire);
  if (one != nullptr && one->process == getpid()) one->poll();
}

bool matters(unsigned long request) {
  // The keyboard's ioctls have the same letter as KFD's, but no size.
  return request <= ~doorbell::u32{0} && _IOC_SIZE(request) > 0 &&
         doorbell::amd::hw::is_known_ioctl(static_cast<doorbell::u32>(request));
}

// NVIDIA's escapes, and UVM's ioctls, whose requests are small numbers. A client's first call is
// one of these two.
bool may_be_nvidias(unsigned long request) {
  constexpr unsigned long kUvmInitialize = 0x30000001, kMostUvm = 0x200;
  return request == kUvmInitialize || (_IOC_TYPE(request) == 'F' && _IOC_SIZE(request) > 0) ||
         (request < kMostUvm && g_session.load(std::memory_order_acquire) != nullptr);
}

void* map(void* at, size_t bytes, int protection, int flags, int descriptor, off_t offset) {
  // Calls the kernel, not the next library's mmap, which may not be resolved yet at the first call.
  const long result = syscall(SYS_mmap, at, bytes, protection, flags, descriptor, offset);
  Session* const one = g_session.load(std::memory_order_acquire);
  if (one == nullptr || descriptor < 0 || result == -1 || one->process != getpid())
    return reinterpret_cast<void*>(result);
  one->recorder.mapped(descriptor, static_cast<doorbell::u64>(result), bytes,
                       static_cast<doorbell::u64>(offset));
  one->nv_recorder.mapped(descriptor, static_cast<doorbell::u64>(result), bytes);
  return reinterpret_cast<void*>(result);
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] int ioctl(int descriptor, unsigned long request, ...) noexcept {
  va_list list;
  va_start(list, request);
  void* const argument = va_arg(list, void*);
  va_end(list);
  using Ioctl = int (*)(int, unsigned long, void*);
  static const auto next = reinterpret_cast<Ioctl>(dlsym(RTLD_NEXT, "ioctl"));
  const int result = next(descriptor, request, argument);
  const bool is_amds = matters(request);
  if (!is_amds && !may_be_nvidias(request)) return result;
  const int before = errno;
  (is_amds ? record_ioctl : record_nv_ioctl)(descriptor, request, argument,
                                             result < 0 ? before : 0);
  errno = before;
  return result;
}

[[gnu::visibility("default")]] void* mmap(void* at, size_t bytes, int protection, int flags,
                                          int descriptor, off_t offset) noexcept {
  return map(at, bytes, protection, flags, descriptor, offset);
}

[[gnu::visibility("default")]] void* mmap64(void* at, size_t bytes, int protection, int flags,
                                            int descriptor, off64_t offset) noexcept {
  return map(at, bytes, protection, flags, descriptor, offset);
}

[[gnu::visibility("default")]] int munmap(void* start, size_t bytes) noexcept {
  using Munmap = int (*)(void*, size_t);
  static const auto next = reinterpret_cast<Munmap>(dlsym(RTLD_NEXT, "munmap"));
  Session* const one = g_session.load(std::memory_order_acquire);
  if (one != nullptr && one->process == getpid())
    one->nv_recorder.unmapped(reinterpret_cast<doorbell::u64>(start), bytes);
  return next(start, bytes);
}

}  // extern "C"
