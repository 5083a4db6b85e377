// What a forked child is told of its parent's devices.
#include "base/os/fork.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace doorbell::os {
namespace {

TEST(ForkGuard, RefusesInChildrenOnly) {
  const ForkGuard guard;
  EXPECT_TRUE(guard.check("AMD's devices"));
  const pid_t child = fork();
  if (child == 0) {
    const Result<void> checked = guard.check("AMD's devices");
    const bool right =
        !checked && checked.error().kind == ErrorKind::Unsupported &&
        checked.error().message ==
            "AMD's devices were opened before this process was forked and cannot be used in a "
            "forked process; start it with spawn or exec";
    _exit(right && ForkGuard().is_same_process() ? 7 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_TRUE(guard.is_same_process());
}

}  // namespace
}  // namespace doorbell::os
