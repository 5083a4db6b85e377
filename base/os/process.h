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
// input. A program that cannot start is an Error; its output and exit status are the result. Thread
// safety: from any thread; the program inherits no other descriptor that is close-on-exec.
Result<ProcessOutput> run_process(std::span<const std::string> command,
                                  std::string_view input = {});

// Runs a program with this process's input and outputs; returns its exit status as above. Meanwhile
// Ctrl-C in the terminal interrupts the program and not this process. Thread safety: one thread at
// a time.
Result<int> run_attached(std::span<const std::string> command);

}  // namespace doorbell::os
