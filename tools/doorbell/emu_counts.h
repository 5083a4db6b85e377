// The counts of `doorbell emu --count`: from the lines that the program's machines wrote to the
// table that is printed.
#pragma once

#include <string>

#include "base/util/result.h"
#include "emulator/core/counts.h"

namespace doorbell::tools {

// Sums by kernel; empty if there is no such file. Corrupt for a line that no machine writes.
Result<emu::CountsByKernel> read_counts(const std::string& path);

// A table, with the columns that are not zero for all kernels; or a JSON object for each kernel.
void print_counts(const emu::CountsByKernel& kernels, bool as_json);

}  // namespace doorbell::tools
