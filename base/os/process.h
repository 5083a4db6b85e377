// Running another program to its end: a compiler, a disassembler.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::os {

struct ProcessOutput {
  int exit_status = 0;  // 128 + the signal's number when a signal ended it
  std::string out;
  std::string error_out;
};

// The program is looked for in PATH unless its name has a slash. `input` becomes its standard
// input. Not being able to start is an Error; what it says and how it ends is the result. Thread
// safety: from any thread; no other descriptor of ours is inherited as long as they are
// close-on-exec.
Result<ProcessOutput> run_process(std::span<const std::string> command,
                                  std::string_view input = {});

// The same with our own input and outputs, until it ends; returns its exit status as above. What
// interrupts it from the terminal does not interrupt us. Thread safety: one thread at a time.
Result<int> run_attached(std::span<const std::string> command);

}  // namespace doorbell::os
