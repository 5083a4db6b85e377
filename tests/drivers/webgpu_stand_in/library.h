// What a test tells the stand-in (library.cc), and asks it.
#pragma once

#include "base/util/types.h"

extern "C" {
// What fails from now on; "": nothing does. The words are those that library.cc compares.
void stand_in_fail(const char* fault);
// Objects that were made and not released.
doorbell::i64 stand_in_objects();
}
