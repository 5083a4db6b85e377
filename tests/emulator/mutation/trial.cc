// Each trial is a child process, whose end says how it went (trial.h).
#include "tests/emulator/mutation/trial.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/util/check.h"

namespace doorbell::testing {

namespace {

// A GPU that writes where it was not told to may end the process.
End run_apart(const std::function<End()>& run) {
  const pid_t child = fork();
  CHECK(child >= 0, "cannot fork: errno {}", errno);
  if (child == 0) _exit(static_cast<int>(run()));
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child, "cannot wait for a child: errno {}", errno);
  return WIFEXITED(status) ? static_cast<End>(WEXITSTATUS(status)) : End::Caught;
}

}  // namespace

bool is_caught(const MutantName& mutant, bool listed, u64 seeds,
               const std::function<End(u64 seed)>& run) {
  const End end = run_apart([&] {
    const u64 last = listed ? std::min<u64>(1, seeds) : seeds;
    for (u64 seed = 0; seed <= last; ++seed)
      if (const End one = run(seed); one != End::Clean) return one;
    return End::Clean;
  });
  EXPECT_NE(end, End::Absent) << mutant.where << ' ' << mutant.name << " is nowhere in the run";
  return end == End::Caught;
}

}  // namespace doorbell::testing
