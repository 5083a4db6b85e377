// A permutation of threads over cores, and its inverse.
#include "drivers/cpu/thread_cores.h"

#include <numeric>
#include <utility>

#include "base/util/check.h"

namespace doorbell::cpu {

ThreadCores::ThreadCores(std::vector<std::vector<int>> cores)
    : cores_(std::move(cores)), core_of_(cores_.size()), thread_of_(cores_.size()) {
  std::iota(core_of_.begin(), core_of_.end(), usize{0});
  thread_of_ = core_of_;
  for (usize core = 0; core < cores_.size(); ++core) {
    for (int cpu : cores_[core]) {
      CHECK_GE(cpu, 0);
      const usize at = static_cast<usize>(cpu);
      if (at >= core_at_.size()) core_at_.resize(at + 1, -1);
      core_at_[at] = static_cast<int>(core);
    }
  }
}

std::optional<usize> ThreadCores::make_room(int cpu) {
  const usize at = static_cast<usize>(cpu);
  if (cpu < 0 || at >= core_at_.size() || core_at_[at] < 0) return std::nullopt;
  const usize core = static_cast<usize>(core_at_[at]), thread = thread_of_[core];
  if (thread == 0) return std::nullopt;
  core_of_[thread] = std::exchange(core_of_[0], core);
  thread_of_[core_of_[thread]] = thread;
  thread_of_[core] = 0;
  return thread - 1;
}

}  // namespace doorbell::cpu
