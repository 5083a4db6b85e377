// Virtual time, and the host's.
#include "emulator/core/machine_clock.h"

#include <utility>

namespace doorbell::emu {
namespace {

class LockstepClock final : public os::Clock {
 public:
  LockstepClock(std::atomic<u64>& now_ns, std::function<void()> run_until_idle,
                std::function<void()> run_some)
      : now_(now_ns), run_until_idle_(std::move(run_until_idle)), run_some_(std::move(run_some)) {}
  u64 now_ns() override { return now_ += 100; }
  void sleep_until(u64 time_ns) override {
    run_until_idle_();
    u64 now = now_;
    while (now < time_ns && !now_.compare_exchange_weak(now, time_ns)) {
    }
  }
  void relax(u32) override {
    now_ += 1000;
    run_some_();
  }

 private:
  std::atomic<u64>& now_;
  const std::function<void()> run_until_idle_, run_some_;
};

class HostClock final : public os::Clock {
 public:
  explicit HostClock(os::Clock& host) : host_(host) {}
  u64 now_ns() override { return host_.now_ns(); }
  void sleep_until(u64 time_ns) override { host_.sleep_until(time_ns); }
  void relax(u32 turn) override { host_.relax(turn); }

 private:
  os::Clock& host_;
};

}  // namespace

std::unique_ptr<os::Clock> make_lockstep_clock(std::atomic<u64>& now_ns,
                                               std::function<void()> run_until_idle,
                                               std::function<void()> run_some) {
  return std::make_unique<LockstepClock>(now_ns, std::move(run_until_idle), std::move(run_some));
}

std::unique_ptr<os::Clock> make_host_clock(os::Clock& host) {
  return std::make_unique<HostClock>(host);
}

}  // namespace doorbell::emu
