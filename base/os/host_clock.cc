// The real clock, the real randomness, and the bundle of all real doors.
#include <sched.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/os/host.h"
#include "base/util/check.h"

namespace doorbell::os {
namespace {

constexpr u64 kSecond_ns = 1'000'000'000;

class HostClock final : public Clock {
 public:
  u64 now_ns() override {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<u64>(now.tv_sec) * kSecond_ns + static_cast<u64>(now.tv_nsec);
  }

  void sleep_until(u64 time_ns) override {
    for (u64 now = now_ns(); now < time_ns; now = now_ns()) sleep(time_ns - now);
  }

  void relax(u32 turn) override {
    // About 100 us of spinning. It yields the processor now and then even so: on a busy machine the
    // thread that it waits for may be waiting for this processor.
    constexpr u32 kSpins = 4096, kYields = kSpins + 64, kOfferEach = 32;
    if (turn < kSpins && turn % kOfferEach != kOfferEach - 1)
      pause();
    else if (turn < kYields)
      sched_yield();
    else
      sleep(50'000);
  }

 private:
  static void sleep(u64 duration_ns) {
    timespec duration{static_cast<time_t>(duration_ns / kSecond_ns),
                      static_cast<long>(duration_ns % kSecond_ns)};
    nanosleep(&duration, nullptr);  // an early wake only means another turn of the caller's loop
  }

  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }
};

class HostRandom final : public Random {
 public:
  void fill(std::span<u8> bytes) override {
    while (!bytes.empty()) {
      usize count = std::min<usize>(bytes.size(), 256);  // getentropy's limit
      CHECK(getentropy(bytes.data(), count) == 0, "getentropy failed with errno {}", errno);
      bytes = bytes.subspan(count);
    }
  }
};

}  // namespace

Clock& host_clock() {
  static Clock& clock = *new HostClock;
  return clock;
}

Random& host_random() {
  static Random& random = *new HostRandom;
  return random;
}

const System& host_system() {
  static const System& system = *new System{host_files(), host_clock(), host_random()};
  return system;
}

}  // namespace doorbell::os
