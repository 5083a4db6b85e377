// Running another program: to its end (a compiler, a disassembler), or line by line.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
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

// A program that answers each line on its standard input with one on its standard output. Its
// errors go where this process's go. Destroying this closes both and waits for the program to end.
// Thread safety: one thread at a time.
class LineProcess {
 public:
  static Result<LineProcess> start(std::span<const std::string> command);
  LineProcess(LineProcess&& other) noexcept { *this = std::move(other); }
  LineProcess& operator=(LineProcess&& other) noexcept;
  ~LineProcess();

  // `line` has no newline, the answer neither. Blocks; an Error if the program ends without one.
  Result<std::string> ask(std::string_view line);

 private:
  LineProcess() = default;

  int process_ = -1, to_ = -1, from_ = -1;  // none where it was moved from
  std::string name_, read_;                 // what was read beyond the last answer
};

}  // namespace doorbell::os
