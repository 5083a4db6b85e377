// The error of a forked child that uses its parent's devices.
#include "base/os/fork.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os/host.h"

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

TEST(Mapping, ThatIsNotInheritedIsNotInChildren) {
  for (bool inherited : {true, false}) {
    const Mapping memory = std::move(
        *host_files().map_anonymous({.size = 1 << 16, .writable = true, .inherited = inherited}));
    const u8* const at = memory.data();
    const pid_t child = fork();
    if (child == 0) {
      unsigned char resident = 0;
      // Told of pages that are mapped only. [mincore(2): ENOMEM]
      _exit(mincore(const_cast<u8*>(at), 4096, &resident) == 0 ? 7 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), inherited ? 7 : 1);
  }
}

}  // namespace
}  // namespace doorbell::os
