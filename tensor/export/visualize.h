// A look at how a tensor would be computed.
#pragma once

#include <string>

#include "tensor/api/tensor.h"

namespace doorbell {

// Writes a page for a browser, with nothing beside it, that shows the graph of `x`, its schedule
// and its kernels with their plans and sources. Schedules and compiles; nothing runs, `x` stays
// lazy. `path` is replaced. `doorbell graph` shows a whole program, with times.
// Throws Error: a file that cannot be written, a kernel that does not compile.
//
//   visualize((x * 3).sum(), "sum.html");
void visualize(const Tensor& x, const std::string& path);

}  // namespace doorbell
