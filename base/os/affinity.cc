// By Linux's sets of CPUs.
#include "base/os/affinity.h"

#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#endif

namespace doorbell::os {

#if defined(__linux__)

namespace {

// As many CPUs as Linux can be built for.
struct CpuSet {
  static constexpr int kMost = 8192;
  CpuSet() : set(CPU_ALLOC(kMost)) { CPU_ZERO_S(bytes(), set); }
  ~CpuSet() { CPU_FREE(set); }
  CpuSet(const CpuSet&) = delete;
  CpuSet& operator=(const CpuSet&) = delete;
  static usize bytes() { return CPU_ALLOC_SIZE(kMost); }
  cpu_set_t* set;
};

}  // namespace

std::vector<int> allowed_cpus() {
  CpuSet found;
  std::vector<int> cpus;
  if (sched_getaffinity(0, CpuSet::bytes(), found.set) != 0) return cpus;
  for (int cpu = 0; cpu < CpuSet::kMost; ++cpu)
    if (CPU_ISSET_S(static_cast<usize>(cpu), CpuSet::bytes(), found.set)) cpus.push_back(cpu);
  return cpus;
}

void restrict_thread(std::thread& thread, std::span<const int> cpus) {
  CpuSet wanted;
  for (int cpu : cpus)
    if (cpu >= 0 && cpu < CpuSet::kMost)
      CPU_SET_S(static_cast<usize>(cpu), CpuSet::bytes(), wanted.set);
  (void)pthread_setaffinity_np(thread.native_handle(), CpuSet::bytes(), wanted.set);
}

int current_cpu() { return sched_getcpu(); }

#else

std::vector<int> allowed_cpus() { return {}; }
void restrict_thread(std::thread&, std::span<const int>) {}
int current_cpu() { return -1; }

#endif

}  // namespace doorbell::os
