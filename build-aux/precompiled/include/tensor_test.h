// What most tests of tensor/ include, parsed once for them.
#include "build-aux/precompiled/include/library.h"

#include <gtest/gtest.h>

#include "runtime/doorbell.h"
#include "tests/tensor/reference.h"
