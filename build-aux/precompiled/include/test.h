// What most tests include, parsed once for all of them (meson.build beside this).
#include "build-aux/precompiled/include/library.h"

#include <gtest/gtest.h>
