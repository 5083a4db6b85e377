// What most files of python/binding include, parsed once for them.
#include "build-aux/precompiled/include/library.h"

#include <nanobind/nanobind.h>

#include "python/binding/module.h"
