// Which of the processes that were started together are stopped or dead, by what /proc says.
#include "runtime/siblings.h"

#include <gtest/gtest.h>

#include "tests/support/fake_system.h"

namespace doorbell::runtime {
namespace {

void add(testing::FakeFiles& files, int process, const std::string& job, int rank, char state) {
  const std::string folder = "/proc/" + std::to_string(process) + "/";
  std::string variables = "HOME=/root|PMIX_NAMESPACE=" + job + "|PMIX_RANK=" + std::to_string(rank);
  for (char& c : variables) c = c == '|' ? '\0' : c;
  files.add(folder + "environ", variables);
  files.add(folder + "status", "Name:\tprogram\nUmask:\t0022\nState:\t" + std::string(1, state) +
                                   " (whatever)\nTgid:\t7\n");
}

os::Environment own(const std::string& job, int size, int local_size) {
  return os::Environment({{"PMIX_NAMESPACE", job},
                          {"OMPI_COMM_WORLD_SIZE", std::to_string(size)},
                          {"OMPI_COMM_WORLD_LOCAL_SIZE", std::to_string(local_size)}});
}

TEST(Siblings, SaysWhoIsStoppedAndWhoIsDead) {
  testing::FakeFiles files;
  add(files, 10, "42.1", 0, 'R');
  add(files, 11, "42.1", 1, 'T');
  add(files, 12, "42.1", 2, 'Z');
  add(files, 13, "42.2", 3, 'R');  // of another job
  add(files, 14, "42.1", 3, 'S');
  files.add("/proc/uptime", "1 2");
  EXPECT_EQ(missing_siblings(files, own("42.1", 4, 4)),
            "rank 1, which is stopped, and rank 2, which is dead");
}

TEST(Siblings, SaysNothingOfOtherMachinesOrWithoutPmix) {
  testing::FakeFiles files;
  add(files, 10, "42.1", 0, 'R');
  EXPECT_EQ(missing_siblings(files, own("42.1", 2, 1)), "");
  EXPECT_EQ(missing_siblings(files, os::Environment()), "");
}

}  // namespace
}  // namespace doorbell::runtime
