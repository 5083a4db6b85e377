// The clocks of an emulated machine, for the drivers that run on it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "base/os/clock.h"

namespace doorbell::emu {

// Time goes on when it is asked for or waits, and the machine moves meanwhile: until it is idle
// while somebody sleeps, some steps in each turn of a polling loop. `now_ns` is borrowed.
std::unique_ptr<os::Clock> make_lockstep_clock(std::atomic<u64>& now_ns,
                                               std::function<void()> run_until_idle,
                                               std::function<void()> run_some);
// Tells the time of `host`, which is borrowed.
std::unique_ptr<os::Clock> make_host_clock(os::Clock& host);

}  // namespace doorbell::emu
