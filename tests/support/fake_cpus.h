// Files of /sys and /proc that describe processors of several machines, as Linux writes them there.
#pragma once

#include <string>
#include <vector>

#include "tests/support/fake_system.h"

namespace doorbell::testing {

struct FakeCache {
  int level;
  const char* type;  // "Data", "Instruction", "Unified"
  const char* size;  // "32K"
  int sharers = 1;   // cores; 0: all of the machine
};

// Cores that are alike.
struct FakeCores {
  int cores;
  int threads;  // of a core
  std::vector<FakeCache> caches;
  const char* capacity = nullptr;  // what cpu_capacity says; null: there is no such file
  const char* max_khz = nullptr;   // what cpufreq/cpuinfo_max_freq says
};

struct FakeMachine {
  std::vector<FakeCores> kinds;
  const char* cpuinfo;  // of the first processor
  // The second threads of cores are numbered after all first ones, as most servers do; otherwise
  // next to them.
  bool siblings_last = false;
};

void add_cpus(FakeFiles& files, const FakeMachine& machine);

// An EPYC of Zen 4 with 8 cores in one CCX, a Ryzen 9950X's first CCD, a Xeon Gold 6248 with two
// threads a core, a Core i9-12900K, a Core i7-4770 and an RK3588.
FakeMachine zen4(), zen5(), cascade_lake(), alder_lake(), haswell(), rk3588();

}  // namespace doorbell::testing
