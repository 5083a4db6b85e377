// Several processes; see python/doorbell/distributed.
#pragma once

#include "python/binding/arguments.h"

namespace doorbell::python {

void define_distributed(nb::module_& module);

}  // namespace doorbell::python
