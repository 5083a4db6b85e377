// Every process runs the same tests in the same order; what any of them finds fails the run. In
// place of GoogleTest's own main(), because the processes must be joined first.
#include <gtest/gtest.h>

#include "runtime/distributed.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  doorbell::dist::init({.timeout_s = 60});
  return RUN_ALL_TESTS();
}
