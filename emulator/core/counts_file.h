// The file of counts of a machine inside another program: a JSON object on a line for each kernel.
// Several processes may append to it; who reads it adds what has the same name.
#pragma once

#include <string>

#include "base/util/result.h"
#include "emulator/core/counts.h"

namespace doorbell::emu {

// {"kernel": "matmul", "launches": 1, "vector": 20, ...}, with a newline.
std::string to_json(std::string_view kernel, const KernelCounts& counts);
// Makes the file if there is none. May block on the file system.
Result<void> append_counts(const Counts& counts, const std::string& path);

}  // namespace doorbell::emu
